#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/critical_cells.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace headrace::inline v1::models::detail {
namespace {

/// Steps to the 26 voxels around one: z, y and x from -1 to 1, x fastest, the voxel itself left
/// out.
using LinkPlaces = std::array<std::int32_t, 26>;

LinkPlaces link_places(std::int64_t height, std::int64_t width) {
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

const Octahedron octahedron = make_octahedron();

template <std::size_t kCount>
std::uint32_t cells_within(std::uint32_t voxels, const std::array<std::uint32_t, kCount>& cells) {
  std::uint32_t within = 0;
  for (std::size_t i = 0; i < kCount; ++i)
    within |= static_cast<std::uint32_t>((voxels & cells[i]) == cells[i]) << i;
  return within;
}

/// The link of the voxel at `voxel`, whose lowest bit says whether it is there.
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

}  // namespace
}  // namespace headrace::inline v1::models::detail

namespace headrace::inline v1::models {
namespace {

/// Voxels with one of 0 on each side.
class GrowingVolume {
 public:
  GrowingVolume(const VoxelBits& from, const VoxelBits& to)
      : height_(from.extent()[1] + 2),
        width_(from.extent()[2] + 2),
        state_(static_cast<std::size_t>((from.extent()[0] + 2) * height_ * width_)),
        around_(detail::link_places(height_, width_)) {
    const GridExtent& extent = from.extent();
    for (std::int64_t z = 0; z < extent[0]; ++z) {
      for (std::int64_t y = 0; y < extent[1]; ++y)
        read_row(from.row(z, y), to.row(z, y), extent[2], ((z + 1) * height_ + y + 1) * width_ + 1);
    }
  }

  CriticalCells grow() {
    for (const std::int32_t place : missing_)
      wait_if_touched(place);
    std::size_t isolated = 0;
    for (;;) {
      if (take(simple_, waits)) {
        add_or_put_off(place_);
      } else if (take(filling_, put_off) || take(joining_, put_off)) {
        add_critical_or_put_off(place_);
      } else if (isolated < missing_.size()) {
        // Whatever is left touches nothing: a component of its own.
        place_ = missing_[isolated++];
        if (is_missing(place_)) add(place_, link(place_));
      } else {
        return cells_;
      }
    }
  }

 private:
  enum : std::uint8_t { present = 1, wanted = 2, waits = 4, put_off = 8 };

  /// First in, first out.
  struct Queue {
    std::vector<std::int32_t> places{};
    std::size_t next = 0;
  };

  void read_row(const std::uint64_t* from, const std::uint64_t* to, std::int64_t width,
                std::int64_t first) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto has = static_cast<std::uint8_t>(from[x / 64] >> (x % 64) & 1U);
      const auto gets = static_cast<std::uint8_t>(to[x / 64] >> (x % 64) & 1U);
      if (has != 0 && gets == 0)
        throw DataError("[critical cells] a volume can only grow, got one that loses voxels");
      if (has == gets && has == 0) continue;
      const std::int64_t place = first + x;
      at(static_cast<std::int32_t>(place)) = has != 0 ? present : wanted;
      if (has == 0) missing_.push_back(static_cast<std::int32_t>(place));
    }
  }

  std::uint8_t& at(std::int32_t place) { return state_[static_cast<std::size_t>(place)]; }
  bool is_missing(std::int32_t place) { return (at(place) & wanted) != 0; }

  detail::VoxelLink link(std::int32_t place) const {
    return detail::link_of(state_.data() + place, around_);
  }

  void wait_if_touched(std::int32_t place) {
    for (const std::int32_t step : around_) {
      if ((at(place + step) & present) == 0) continue;
      wait(place, simple_, waits);
      return;
    }
  }

  void wait(std::int32_t place, Queue& queue, std::uint8_t as) {
    if ((at(place) & as) != 0) return;
    at(place) = static_cast<std::uint8_t>(at(place) | as);
    queue.places.push_back(place);
  }

  /// Takes what waits in a queue, if it does.
  bool take(Queue& queue, std::uint8_t as) {
    if (queue.next == queue.places.size()) {
      queue.places.clear();
      queue.next = 0;
      return false;
    }
    place_ = queue.places[queue.next++];
    at(place_) = static_cast<std::uint8_t>(at(place_) & ~as);
    return true;
  }

  void add_or_put_off(std::int32_t place) {
    if (!is_missing(place)) return;
    const detail::VoxelLink found = link(place);
    if (found.is_empty()) return;
    if (found.is_simple()) {
      add(place, found);
    } else {
      wait(place, found.joins() ? joining_ : filling_, put_off);
    }
  }

  /// What fills goes before what joins: a tunnel that is joined only to be filled counts twice.
  void add_critical_or_put_off(std::int32_t place) {
    if (!is_missing(place)) return;
    const detail::VoxelLink found = link(place);
    if (found.joins() && filling_.next < filling_.places.size()) {
      wait(place, joining_, put_off);
    } else {
      add(place, found);
    }
  }

  void add(std::int32_t place, const detail::VoxelLink& found) {
    at(place) = present;
    for (std::size_t k = 0; k < 4; ++k)
      cells_.count[k] += found.cells[k];
    for (const std::int32_t step : around_) {
      if (is_missing(place + step)) wait(place + step, simple_, waits);
    }
  }

  std::int64_t height_;
  std::int64_t width_;
  std::vector<std::uint8_t> state_;
  detail::LinkPlaces around_;
  std::vector<std::int32_t> missing_{};
  Queue simple_{};
  Queue filling_{};
  Queue joining_{};
  std::int32_t place_ = 0;
  CriticalCells cells_{};
};

}  // namespace

CriticalCells critical_cells(const VoxelBits& from, const VoxelBits& to) {
  if (from.extent() != to.extent())
    throw DataError("[critical cells] volumes must be of one extent");
  double voxels = 1.0;  // with a border, by int32 places
  for (const std::int64_t side : from.extent())
    voxels *= static_cast<double>(side + 2);
  if (voxels > static_cast<double>(std::numeric_limits<std::int32_t>::max()))
    throw DataError("[critical cells] a volume must have fewer than 2^31 voxels with its border");
  return GrowingVolume(from, to).grow();
}

}  // namespace headrace::inline v1::models
