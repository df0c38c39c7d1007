#pragma once

#include <headrace/augment/volume/voxel_bits.h>

#include <cstddef>

namespace headrace::inline v1::detail {

/// Erosion and dilation of binary volumes of one extent, 64 voxels at once. What lies outside of
/// the volume decides nothing: it counts as 1 where a volume is eroded, as 0 where it is dilated,
/// as max-pooling with a padding of -inf has it. Used by one thread at a time; asks for memory only
/// where an extent is larger than ever.
class BitMorphology {
 public:
  void begin(const GridExtent& extent);
  /// 1 where the voxel and its 6 neighbours are. `to` is not `from`, here and below.
  void erode_cross(const VoxelBits& from, VoxelBits& to);
  /// 1 where all voxels of the 3 x 3 x 3 around are.
  void erode_cube(const VoxelBits& from, VoxelBits& to);
  /// 1 where one of those is.
  void dilate_cube(const VoxelBits& from, VoxelBits& to);

  static std::size_t bytes(const GridExtent& extent) { return 4 * VoxelBits::bytes(extent); }

 private:
  VoxelBits inside_{};
  VoxelBits outer_{};  // what is inside and not of the volume
  VoxelBits rows_{};
  VoxelBits slices_{};
};

}  // namespace headrace::inline v1::detail
