#pragma once

#include <headrace/loaders/volume/volume.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace headrace::test {

/// Copies what of a block lies inside the volume to its places among all voxels.
inline void place_block(const VolumeInfo& info, const VolumeIndex& place,
                        const std::vector<std::byte>& block, std::vector<std::byte>& voxels) {
  const std::size_t voxel = size_of(info.dtype);
  VolumeIndex begin{}, count{};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    begin[axis] = place[axis] * info.block[axis];
    count[axis] = std::min(info.block[axis], info.shape[axis] - begin[axis]);
  }
  const auto at = [&](const VolumeIndex& extents, std::int64_t c, std::int64_t z, std::int64_t y,
                      std::int64_t x) {
    return static_cast<std::size_t>(((c * extents[1] + z) * extents[2] + y) * extents[3] + x) *
           voxel;
  };
  for (std::int64_t c = 0; c < count[0]; ++c)
    for (std::int64_t z = 0; z < count[1]; ++z)
      for (std::int64_t y = 0; y < count[2]; ++y)
        std::memcpy(
            voxels.data() + at(info.shape, begin[0] + c, begin[1] + z, begin[2] + y, begin[3]),
            block.data() + at(info.block, c, z, y, 0), static_cast<std::size_t>(count[3]) * voxel);
}

/// All voxels, in the order c, z, y, x, read block by block.
inline std::vector<std::byte> whole_volume(const Volume& volume) {
  const VolumeInfo& info = volume.info();
  std::vector<std::byte> voxels(static_cast<std::size_t>(voxels_of(info.shape)) *
                                size_of(info.dtype));
  std::vector<std::byte> block(info.block_bytes());
  const VolumeIndex grid = info.grid();
  for (std::int64_t c = 0; c < grid[0]; ++c) {
    for (std::int64_t z = 0; z < grid[1]; ++z) {
      for (std::int64_t y = 0; y < grid[2]; ++y) {
        for (std::int64_t x = 0; x < grid[3]; ++x) {
          volume.read_block({c, z, y, x}, block);
          place_block(info, {c, z, y, x}, block, voxels);
        }
      }
    }
  }
  return voxels;
}

}  // namespace headrace::test
