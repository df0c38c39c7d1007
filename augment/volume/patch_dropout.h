#pragma once

#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <string>

namespace headrace::inline v1 {

/// Fills some cells of a grid over an image float32 [channels, z, y, x], the same in all channels.
/// The share of cells that stay is uniform in least_kept .. 1, what goes rounded down; which ones
/// is as likely for all.
struct HEADRACE_API PatchDropout {
  double p = 0.15;                         ///< probability of filled cells at all
  double least_kept = 0.6;                 ///< share of the cells
  std::array<int, 3> cell = {16, 16, 16};  ///< sides along z, y and x, in voxels
  float fill = 0.0F;                       ///< what filled cells hold
  std::string field = "image";

  std::string name() const { return "patch dropout"; }
  /// Throws ConfigError for parameters that cannot be right, for fields that are no images of
  /// voxels, and for more than 4096 cells.
  Schema schema(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels and for too many cells.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of that size gets.
  PatchDropoutParameters draw(const std::array<std::int64_t, 3>& sides, Random& random) const;
};

}  // namespace headrace::inline v1
