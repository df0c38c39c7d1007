#pragma once

#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Moves each z slice of an image float32 [channels, z, y, x] by whole voxels along y and x, each
/// uniform in -most .. most, as slices that were not aligned are; all channels and masks alike.
/// What comes in is the nearest voxel of the slice's border.
struct HEADRACE_API SliceJitter {
  double p = 0.15;  ///< probability of moving at all
  int most = 2;     ///< largest way along an axis, in voxels
  std::string field = "image";
  /// Fields that move along, of any dtype, [..., z, y, x] of the image's size.
  std::vector<std::string> masks{};

  std::string name() const { return "slice jitter"; }
  /// Throws ConfigError for parameters that cannot be right, for fields that are no images of
  /// voxels, and for masks of another size.
  Schema schema(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels or no mask of it.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample gets.
  SliceJitterParameters draw(Random& random) const;
};

}  // namespace headrace::inline v1
