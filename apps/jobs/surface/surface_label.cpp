#include <headrace/apps/jobs/surface/surface_label.h>
#include <headrace/engine/base/random.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t block_side = 16;

/// Calls use(at, neighbours) for each voxel: how many of the six around it are in the mask.
template <class Use>
void for_neighbours(const SurfaceVoxels& mask, const Use& use) {
  const auto [depth, rows, columns] = mask.extent;
  const auto in = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const bool there = z >= 0 && z < depth && y >= 0 && y < rows && x >= 0 && x < columns;
    return there && mask.voxels[mask.at(z, y, x)] != 0 ? 1 : 0;
  };
  for (std::int64_t z = 0; z < depth; ++z)
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < columns; ++x)
        use(mask.at(z, y, x), in(z - 1, y, x) + in(z + 1, y, x) + in(z, y - 1, x) +
                                  in(z, y + 1, x) + in(z, y, x - 1) + in(z, y, x + 1));
}

}  // namespace

SurfaceVoxels inner_boundary(const SurfaceVoxels& mask) {
  SurfaceVoxels made{mask.extent, std::vector<std::uint8_t>(mask.voxels.size())};
  for_neighbours(mask, [&](std::size_t at, int neighbours) {
    made.voxels[at] = mask.voxels[at] != 0 && neighbours < 6 ? 1 : 0;
  });
  return made;
}

SurfaceVoxels grown(const SurfaceVoxels& mask) {
  SurfaceVoxels made{mask.extent, std::vector<std::uint8_t>(mask.voxels.size())};
  for_neighbours(mask, [&](std::size_t at, int neighbours) {
    made.voxels[at] = mask.voxels[at] != 0 || neighbours > 0 ? 1 : 0;
  });
  return made;
}

void ignore_blocks(SurfaceVoxels& labels, const IgnoredBlocks& blocks) {
  const auto [depth, rows, columns] = labels.extent;
  std::int64_t block = 0;
  for (std::int64_t z = 0; z < depth; z += block_side)
    for (std::int64_t y = 0; y < rows; y += block_side)
      for (std::int64_t x = 0; x < columns; x += block_side) {
        Random random(
            {.seed = blocks.seed, .loader = hash_name("prepare surface"), .position = block++});
        if (random.uniform() >= blocks.share) continue;
        const std::int64_t width = std::min(block_side, columns - x);
        for (std::int64_t k = z; k < std::min(z + block_side, depth); ++k)
          for (std::int64_t j = y; j < std::min(y + block_side, rows); ++j)
            std::fill_n(labels.voxels.begin() + static_cast<std::ptrdiff_t>(labels.at(k, j, x)),
                        width, blocks.label);
      }
}

}  // namespace headrace::inline v1::app
