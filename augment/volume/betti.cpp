#include <headrace/augment/volume/betti.h>
#include <headrace/augment/volume/detail/bit_kernels.h>
#include <headrace/augment/volume/voxel_runs.h>
#include <headrace/engine/base/error.h>

namespace headrace::inline v1 {
namespace {

bool by_corners(Neighbours foreground) {
  if (foreground == Neighbours::edges) {
    throw ConfigError(
        "[betti numbers] the foreground must hang together by faces or by corners, got edges");
  }
  return foreground == Neighbours::corners;
}

}  // namespace

std::int64_t euler_characteristic(const VoxelBits& voxels, Neighbours foreground) {
  std::int64_t euler = 0;
  detail::euler_of_runs({.first = voxels.row(0, 0),
                         .row_words = voxels.row_words(),
                         .slice_words = voxels.slice_words(),
                         .slices = voxels.extent()[0]},
                        by_corners(foreground), euler);
  return euler;
}

BettiNumbers betti_numbers(const VoxelBits& voxels, Neighbours foreground) {
  static thread_local VoxelRuns runs;
  const Neighbours background = by_corners(foreground) ? Neighbours::faces : Neighbours::corners;
  BettiNumbers betti;
  betti.components = runs.find_objects(voxels, foreground);
  betti.cavities = runs.find_background(voxels, background);
  betti.tunnels = betti.components + betti.cavities - euler_characteristic(voxels, foreground);
  return betti;
}

BettiNumbers betti_numbers(std::span<const std::uint8_t> voxels, const GridExtent& extent,
                           Neighbours foreground) {
  static thread_local VoxelBits bits;
  bits.mark(voxels, extent);
  return betti_numbers(bits, foreground);
}

std::size_t betti_bytes(const GridExtent& extent) {
  // A row has at most half as many runs as voxels, or one more; vectors double as they grow.
  const auto rows = static_cast<std::size_t>(extent[0] * extent[1]);
  const std::size_t runs = rows * static_cast<std::size_t>(extent[2] / 2 + 1);
  return VoxelBits::bytes(extent) +
         2 * (runs * sizeof(VoxelRun) + (rows + runs + 2) * sizeof(std::int32_t));
}

}  // namespace headrace::inline v1
