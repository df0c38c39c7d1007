#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::models::detail {

/// Steps to the 26 voxels around one: z, y and x from -1 to 1, x fastest, the voxel itself left
/// out.
using LinkPlaces = std::array<std::int32_t, 26>;

inline LinkPlaces link_places(std::int64_t height, std::int64_t width) {
  LinkPlaces places{};
  std::size_t i = 0;
  for (std::int64_t z = -1; z <= 1; ++z)
    for (std::int64_t y = -1; y <= 1; ++y)
      for (std::int64_t x = -1; x <= 1; ++x)
        if (z != 0 || y != 0 || x != 0)
          places[i++] = static_cast<std::int32_t>((z * height + y) * width + x);
  return places;
}

/// Cells that a voxel brings when it joins a volume, those taken off that change no homotopy type:
/// by the reduced Betti numbers of its link.
struct VoxelLink {
  std::array<std::int8_t, 4> cells{};

  bool is_empty() const { return cells[0] != 0; }
  bool is_simple() const { return cells == std::array<std::int8_t, 4>{}; }
  bool joins() const { return cells[1] != 0; }
};

/// The octahedron whose corners are a voxel's 6 neighbours by faces, with its 12 edges and 8
/// triangles: of each the voxels, as bits of the 26 around, that it needs.
struct Octahedron {
  std::array<std::uint32_t, 6> corners{};
  std::array<std::uint32_t, 12> edges{};
  std::array<std::uint32_t, 8> triangles{};
  /// For each set of edges its corners, and how many pieces these are.
  std::array<std::uint8_t, 4096> touched{};
  std::array<std::uint8_t, 4096> pieces{};
};

constexpr std::uint32_t link_bit(int z, int y, int x) {
  const int place = (z + 1) * 9 + (y + 1) * 3 + x + 1;
  return std::uint32_t{1} << (place > 13 ? place - 1 : place);
}

constexpr int zeros_of(int z, int y, int x) {
  return (z == 0 ? 1 : 0) + (y == 0 ? 1 : 0) + (x == 0 ? 1 : 0);
}

/// The voxel at that step and all that lie between it and the middle one.
constexpr std::uint32_t link_cell(int z, int y, int x) {
  std::uint32_t bits = 0;
  for (int part = 1; part < 8; ++part) {
    const int pz = (part & 4) != 0 ? z : 0;
    const int py = (part & 2) != 0 ? y : 0;
    const int px = (part & 1) != 0 ? x : 0;
    if (zeros_of(pz, py, px) < 3) bits |= link_bit(pz, py, px);
  }
  return bits;
}

/// Calls `use` with the cell at each step that has so many zeros.
template <class Use>
constexpr void for_link_cells(int zeros, const Use& use) {
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        if (zeros_of(z, y, x) == zeros) use(link_cell(z, y, x));
}

constexpr Octahedron make_octahedron() {
  Octahedron made;
  std::size_t corners = 0;
  std::size_t edges = 0;
  std::size_t triangles = 0;
  for_link_cells(2, [&](std::uint32_t cell) { made.corners[corners++] = cell; });
  for_link_cells(1, [&](std::uint32_t cell) { made.edges[edges++] = cell; });
  for_link_cells(0, [&](std::uint32_t cell) { made.triangles[triangles++] = cell; });
  for (std::size_t set = 1; set < 4096; ++set) {
    // The edge that is the set's first, and what is known of the others.
    const auto edge = static_cast<std::size_t>(std::countr_zero(set));
    std::uint8_t ends = 0;
    for (std::size_t i = 0; i < 6; ++i)
      if ((made.edges[edge] & made.corners[i]) != 0) ends |= static_cast<std::uint8_t>(1U << i);
    made.touched[set] = static_cast<std::uint8_t>(made.touched[set & (set - 1)] | ends);
    std::uint8_t left = made.touched[set];
    while (left != 0) {
      auto piece = static_cast<std::uint8_t>(left & (~left + 1));
      for (int step = 0; step < 5; ++step) {
        for (std::size_t i = 0; i < 12; ++i) {
          if ((set >> i & 1U) == 0) continue;
          std::uint8_t pair = 0;
          for (std::size_t k = 0; k < 6; ++k)
            if ((made.edges[i] & made.corners[k]) != 0) pair |= static_cast<std::uint8_t>(1U << k);
          if ((piece & pair) != 0) piece |= pair;
        }
      }
      left = static_cast<std::uint8_t>(left & ~piece);
      ++made.pieces[set];
    }
  }
  return made;
}

/// The link of the voxel at `voxel`, whose lowest bit says whether it is there.
VoxelLink link_of(const std::uint8_t* voxel, const LinkPlaces& around);

}  // namespace headrace::inline v1::models::detail
