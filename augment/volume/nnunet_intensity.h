#pragma once

#include <headrace/augment/volume/volume_blur.h>
#include <headrace/augment/volume/volume_brightness.h>
#include <headrace/augment/volume/volume_contrast.h>
#include <headrace/augment/volume/volume_gamma.h>
#include <headrace/augment/volume/volume_low_resolution.h>
#include <headrace/augment/volume/volume_noise.h>
#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// nnU-Net's intensity augmentation of an image float32 [channels, z, y, x], in its order and with
/// its probabilities: noise, blur, brightness, contrast, low resolution, gamma of the negated
/// values, gamma. All of it is drawn first; then each channel is passed over as seldom as
/// statistics and neighbours allow, to the same values as the operations one by one. The field of
/// the parts is not looked at; a part with p 0 is left out.
struct HEADRACE_API NnUNetIntensity {
  VolumeNoise noise{};
  VolumeBlur blur{};
  VolumeBrightness brightness{};
  VolumeContrast contrast{};
  VolumeLowResolution low_resolution{};
  VolumeGamma gamma_inverted = VolumeGamma::inverted();
  VolumeGamma gamma{};
  std::string field = "image";

  /// What the parts have drawn.
  struct Parameters {
    VolumeNoiseParameters noise{};
    VolumeBlurParameters blur{};
    VolumeBrightnessParameters brightness{};
    VolumeContrastParameters contrast{};
    VolumeLowResolutionParameters low_resolution{};
    VolumeGammaParameters gamma_inverted{};
    VolumeGammaParameters gamma{};
  };

  std::string name() const { return "nnunet intensity"; }
  /// Throws ConfigError as the parts do.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of so many channels gets.
  Parameters draw(std::int64_t channels, Random& random) const;
  /// All of what was drawn, in place.
  void apply(Sample& sample, const Parameters& drawn) const;
};

}  // namespace headrace::inline v1
