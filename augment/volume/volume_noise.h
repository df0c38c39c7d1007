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

/// Adds normal noise to an image float32 [channels, z, y, x]; its standard deviation is uniform in
/// `deviation`, one for all channels (batchgeneratorsv2's GaussianNoiseTransform as nnU-Net sets
/// it: what it calls a variance is a deviation there). Each value's noise is a function of a drawn
/// key and of its place.
struct HEADRACE_API VolumeNoise {
  double p = 0.1;                                ///< probability of noise at all
  double channel_p = 1.0;                        ///< then, of noise in a channel
  std::array<double, 2> deviation = {0.0, 0.1};  ///< least and most
  std::string field = "image";

  std::string name() const { return "volume noise"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no images of
  /// voxels.
  Schema schema(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of so many channels gets.
  VolumeNoiseParameters draw(std::int64_t channels, Random& random) const;
};

}  // namespace headrace::inline v1
