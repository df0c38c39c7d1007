#pragma once

#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Smooths an image float32 [channels, z, y, x] by Gaussians with a deviation for each channel and
/// axis, uniform in `deviation`; the kernel is cut at three deviations, the border reflected
/// (batchgeneratorsv2's GaussianBlurTransform as nnU-Net sets it).
struct HEADRACE_API VolumeBlur {
  double p = 0.2;                                ///< probability of smoothing at all
  double channel_p = 0.5;                        ///< then, of smoothing a channel
  std::array<double, 2> deviation = {0.5, 1.0};  ///< least and most, in voxels
  std::string field = "image";

  std::string name() const { return "volume blur"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no images of
  /// voxels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of so many channels gets.
  VolumeBlurParameters draw(std::int64_t channels, Random& random) const;
};

}  // namespace headrace::inline v1
