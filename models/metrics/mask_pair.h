#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

/// A predicted and a true binary volume, as the measures of surfaces compare them: bits, a quarter
/// of a byte a voxel for both. Read by any number of threads.
class HEADRACE_API MaskPair {
 public:
  /// [z, y, x]: what is not 0 is foreground; where the truth is `ignore`, both have background.
  /// Throws DataError when a span is not of that extent, for an extent without voxels and for one
  /// of 2^31 and more.
  MaskPair(std::span<const std::uint8_t> prediction, std::span<const std::uint8_t> truth,
           const GridExtent& extent, std::uint8_t ignore = 2);

  const GridExtent& extent() const noexcept { return prediction_.extent(); }
  const VoxelBits& prediction() const noexcept { return prediction_; }
  const VoxelBits& truth() const noexcept { return truth_; }

 private:
  VoxelBits prediction_;
  VoxelBits truth_;
};

}  // namespace headrace::inline v1::models
