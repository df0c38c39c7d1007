#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// Voxels along z, y, x, x fastest: 1 or another label, else 0.
struct SurfaceVoxels {
  std::array<std::int64_t, 3> extent{};
  std::vector<std::uint8_t> voxels{};

  std::size_t at(std::int64_t z, std::int64_t y, std::int64_t x) const noexcept {
    return static_cast<std::size_t>((z * extent[1] + y) * extent[2] + x);
  }
};

/// Voxels of a mask of which one of the six neighbours is not in it; nothing is, beyond the volume.
SurfaceVoxels inner_boundary(const SurfaceVoxels& mask);

/// A mask with the six neighbours of its voxels.
SurfaceVoxels grown(const SurfaceVoxels& mask);

/// Which blocks of a label become another one.
struct IgnoredBlocks {
  std::uint8_t label = 2;
  double share = 0.2;  ///< the probability of each block
  std::uint64_t seed = 42;
};

/// Gives that label to blocks of 16 voxels a side, whatever was in them. Depends on the seed and
/// the block's place alone.
void ignore_blocks(SurfaceVoxels& labels, const IgnoredBlocks& blocks);

}  // namespace headrace::inline v1::app
