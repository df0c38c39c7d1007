#include <headrace/models/metrics/detail/voxel_link.h>

namespace headrace::inline v1::models::detail {
namespace {

const Octahedron octahedron = make_octahedron();

template <std::size_t kCount>
std::uint32_t cells_within(std::uint32_t voxels, const std::array<std::uint32_t, kCount>& cells) {
  std::uint32_t within = 0;
  for (std::size_t i = 0; i < kCount; ++i)
    within |= static_cast<std::uint32_t>((voxels & cells[i]) == cells[i]) << i;
  return within;
}

}  // namespace

VoxelLink link_of(const std::uint8_t* voxel, const LinkPlaces& around) {
  std::uint32_t voxels = 0;
  for (std::size_t i = 0; i < around.size(); ++i)
    voxels |= static_cast<std::uint32_t>(voxel[around[i]] & 1U) << i;
  const std::uint32_t corners = cells_within(voxels, octahedron.corners);
  if (corners == 0) return {{1, 0, 0, 0}};
  const std::uint32_t edges = cells_within(voxels, octahedron.edges);
  const int triangles = std::popcount(cells_within(voxels, octahedron.triangles));
  const int pieces =
      octahedron.pieces[edges] + std::popcount(corners & ~std::uint32_t{octahedron.touched[edges]});
  const int euler = std::popcount(corners) - std::popcount(edges) + triangles;
  const int cavity = triangles == 8 ? 1 : 0;
  return {{0, static_cast<std::int8_t>(pieces - 1),
           static_cast<std::int8_t>(pieces - euler + cavity), static_cast<std::int8_t>(cavity)}};
}

}  // namespace headrace::inline v1::models::detail
