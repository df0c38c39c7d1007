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

/// Multiplies each value's distance to its channel's mean by a factor, with equal probability below
/// and above 1 (batchgeneratorsv2's ContrastTransform as nnU-Net sets it), in an image float32
/// [channels, z, y, x].
struct HEADRACE_API VolumeContrast {
  double p = 0.15;                              ///< probability of a change at all
  double channel_p = 1.0;                       ///< then, of a change of a channel
  std::array<double, 2> factor = {0.75, 1.25};  ///< least and most
  bool preserve_range = true;                   ///< no value leaves the channel's former range
  std::string field = "image";

  std::string name() const { return "volume contrast"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no images of
  /// voxels.
  Schema schema(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of so many channels gets.
  VolumeContrastParameters draw(std::int64_t channels, Random& random) const;
};

}  // namespace headrace::inline v1
