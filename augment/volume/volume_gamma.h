#pragma once

#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Raises each channel of an image float32 [channels, z, y, x], taken from 0 at its least to 1 at
/// its most value, to a power (batchgeneratorsv2's GammaTransform as nnU-Net sets it; it does so
/// twice, first inverted() with p 0.1, then this with p 0.3). Powers are within 1e-6 of themselves.
struct HEADRACE_API VolumeGamma {
  enum class Rule : unsigned char {
    about_one,  ///< with equal probability uniform below and above 1
    uniform,    ///< uniform in the whole range
  };

  double p = 0.3;                               ///< probability of a change at all
  double channel_p = 1.0;                       ///< then, of a change of a channel
  std::array<double, 2> exponent = {0.7, 1.5};  ///< least and most
  Rule rule = Rule::about_one;
  bool invert = false;       ///< the negated values are raised
  bool retain_stats = true;  ///< mean and deviation of the channel are those of before
  std::string field = "image";

  /// nnU-Net's first one: p 0.1, on the negated values.
  static VolumeGamma inverted() { return {.p = 0.1, .invert = true}; }

  std::string name() const { return invert ? "volume gamma inverted" : "volume gamma"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no images of
  /// voxels.
  Schema schema(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of so many channels gets.
  VolumeGammaParameters draw(std::int64_t channels, Random& random) const;
};

}  // namespace headrace::inline v1
