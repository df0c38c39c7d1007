#pragma once

#include <headrace/augment/volume/components.h>
#include <headrace/augment/volume/grid_extent.h>
#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1 {

/// How many holes of each dimension a binary volume has.
struct BettiNumbers {
  std::int64_t components = 0;  ///< b0
  std::int64_t tunnels = 0;     ///< b1
  std::int64_t cavities = 0;    ///< b2: parts of the background that nothing joins to the outside

  friend bool operator==(const BettiNumbers&, const BettiNumbers&) = default;
};

/// Betti numbers of the voxels of 1, by which foreground and background hang together: `corners`,
/// 26 and 6, where voxels are closed cubes (the T-construction of cubical persistence), or `faces`,
/// 6 and 26, where they are the vertices of the complex (the V-construction). The volume is taken
/// to go on with 0. Components are counted for b0 and b2, runs for the Euler characteristic, and b1
/// is what these leave. In memory of the thread. Throws ConfigError for neighbours by edges.
HEADRACE_API BettiNumbers betti_numbers(const VoxelBits& voxels, Neighbours foreground);

/// The same of the voxels that are not 0. Throws ConfigError as VoxelBits::mark(), too.
HEADRACE_API BettiNumbers betti_numbers(std::span<const std::uint8_t> voxels,
                                        const GridExtent& extent, Neighbours foreground);

/// Vertices less edges and more squares less cubes of that complex.
HEADRACE_API std::int64_t euler_characteristic(const VoxelBits& voxels, Neighbours foreground);

/// Memory of the thread that betti_numbers() asks for at most, whatever the voxels are.
HEADRACE_API std::size_t betti_bytes(const GridExtent& extent);

}  // namespace headrace::inline v1
