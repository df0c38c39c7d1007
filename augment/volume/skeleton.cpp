#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/skeleton.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace headrace::inline v1::detail {
namespace {

// A neighbourhood is 27 bits: bit 9 * (dz + 1) + 3 * (dy + 1) + dx + 1; bit 13 is its middle.
constexpr int middle = 13;

constexpr int bit_of(int dz, int dy, int dx) {
  return 9 * (dz + 1) + 3 * (dy + 1) + dx + 1;
}

/// For each voxel of a neighbourhood those that touch it, without the middle.
constexpr std::array<std::uint32_t, 27> make_touching() {
  std::array<std::uint32_t, 27> touching{};
  for (int a = 0; a < 27; ++a) {
    for (int b = 0; b < 27; ++b) {
      const int z = a / 9 - b / 9;
      const int y = a / 3 % 3 - b / 3 % 3;
      const int x = a % 3 - b % 3;
      const bool near = z * z <= 1 && y * y <= 1 && x * x <= 1;
      if (near && b != middle) touching[static_cast<std::size_t>(a)] |= 1U << b;
    }
  }
  return touching;
}
constexpr std::array<std::uint32_t, 27> touching = make_touching();

/// One eighth of a neighbourhood: the middle and 7 others, each 1 bit, and how removing the middle
/// changes the Euler characteristic there, in eighths. Of the middle's faces, edges and corner in
/// the eighth those count that it shares with no other voxel.
struct Octant {
  std::uint32_t faces[3];    ///< the voxel across
  std::uint32_t edges[3];    ///< the three voxels around
  std::uint32_t corner = 0;  ///< the seven voxels around
};

constexpr std::array<Octant, 8> make_octants() {
  std::array<Octant, 8> octants{};
  for (int i = 0; i < 8; ++i) {
    const int z = (i & 4) != 0 ? 1 : -1;
    const int y = (i & 2) != 0 ? 1 : -1;
    const int x = (i & 1) != 0 ? 1 : -1;
    const std::uint32_t fz = 1U << bit_of(z, 0, 0);
    const std::uint32_t fy = 1U << bit_of(0, y, 0);
    const std::uint32_t fx = 1U << bit_of(0, 0, x);
    const std::uint32_t zy = fz | fy | 1U << bit_of(z, y, 0);
    const std::uint32_t zx = fz | fx | 1U << bit_of(z, 0, x);
    const std::uint32_t yx = fy | fx | 1U << bit_of(0, y, x);
    octants[static_cast<std::size_t>(i)] = {
        {fz, fy, fx}, {zy, zx, yx}, zy | zx | yx | 1U << bit_of(z, y, x)};
  }
  return octants;
}
constexpr std::array<Octant, 8> octants = make_octants();

bool keeps_euler(std::uint32_t around) {
  int eighths = 0;
  for (const Octant& octant : octants) {
    eighths -= 1;
    for (std::uint32_t face : octant.faces)
      eighths += (around & face) == 0 ? 2 : 0;
    for (std::uint32_t edge : octant.edges)
      eighths -= (around & edge) == 0 ? 4 : 0;
    eighths += (around & octant.corner) == 0 ? 8 : 0;
  }
  return eighths == 0;
}

/// The voxels around the middle hang together without it, or there are none.
bool is_simple(std::uint32_t around) {
  around &= ~(1U << middle);
  std::uint32_t found = around & (0U - around);
  for (std::uint32_t open = found; open != 0;) {
    const auto at = static_cast<std::size_t>(std::countr_zero(open));
    open &= open - 1;
    const std::uint32_t fresh = around & touching[at] & ~found;
    found |= fresh;
    open |= fresh;
  }
  return found == around;
}

/// Voxels with a border of zeros, so that each has 26 neighbours.
struct Padded {
  std::uint8_t* voxels;
  std::int64_t plane;
  std::int64_t row;

  std::uint32_t around(std::int64_t at) const {
    std::uint32_t bits = 0;
    for (int z = 0; z < 3; ++z) {
      for (int y = 0; y < 3; ++y) {
        const std::uint8_t* from = voxels + at + (z - 1) * plane + (y - 1) * row - 1;
        const auto three = static_cast<std::uint32_t>(from[0] | from[1] << 1 | from[2] << 2);
        bits |= three << (9 * z + 3 * y);
      }
    }
    return bits;
  }
};

bool can_go(std::uint32_t around) {
  const bool end = std::popcount(around) == 2;
  return !end && keeps_euler(around) && is_simple(around);
}

/// One pass from one side: what can go is found first, then looked at again one by one. Gives
/// whether anything went. `left` are the voxels that are 1, in order.
bool thin_from(const Padded& padded, std::int64_t side, std::span<std::int32_t> left,
               std::int32_t* candidates) {
  std::int64_t count = 0;
  for (std::int32_t at : left) {
    if (padded.voxels[at] == 0 || padded.voxels[at + side] != 0) continue;
    if (can_go(padded.around(at))) candidates[count++] = at;
  }
  bool gone = false;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_simple(padded.around(candidates[i]))) continue;
    padded.voxels[candidates[i]] = 0;
    gone = true;
  }
  return gone;
}

void thin_padded(const Padded& padded, bool flat, std::span<std::int32_t> left,
                 std::int32_t* candidates) {
  // The order of sides is scikit-image's: -y, +y, +x, -x, +z, -z.
  const std::int64_t sides[6] = {-padded.row, padded.row, 1, -1, padded.plane, -padded.plane};
  const int side_count = flat ? 4 : 6;
  for (bool changes = true; changes;) {
    changes = false;
    int unchanged = 0;
    for (int s = 0; s < side_count; ++s)
      unchanged += static_cast<int>(!thin_from(padded, sides[s], left, candidates));
    changes = unchanged < side_count;
    const auto end = std::remove_if(left.begin(), left.end(),
                                    [&](std::int32_t at) { return padded.voxels[at] == 0; });
    left = left.first(static_cast<std::size_t>(end - left.begin()));
  }
}

std::int64_t padded_count(const LabelGrid& grid) {
  return (grid.depth + 2) * (grid.height + 2) * (grid.width + 2);
}

/// Bytes of memory that thin() and grow_by_neighbours() need.
std::size_t thinning_bytes(const LabelGrid& grid) {
  return static_cast<std::size_t>(padded_count(grid) + 8 * grid.count() + 64);
}

/// Thins what is not 0 in place, by Lee's rules, to 1 and 0. A grid of depth 1 is thinned as a
/// picture: from four sides. In memory of the thread.
void thin(std::uint8_t* voxels, const LabelGrid& grid) {
  static thread_local Scratch padded_memory;
  static thread_local Scratch list_memory;
  const auto bytes = static_cast<std::size_t>(padded_count(grid));
  const std::int64_t row = grid.width + 2;
  const Padded padded{padded_memory.reserve<std::uint8_t>(bytes), (grid.height + 2) * row, row};
  std::memset(padded.voxels, 0, bytes);
  const auto set = grid.count() - std::count(voxels, voxels + grid.count(), 0);
  auto* left = list_memory.reserve<std::int32_t>(static_cast<std::size_t>(2 * set));
  std::int64_t count = 0;
  const auto first_of = [&](std::int64_t i) {
    return (i / grid.height + 1) * padded.plane + (i % grid.height + 1) * row + 1;
  };
  for (std::int64_t i = 0; i < grid.depth * grid.height; ++i) {
    for (std::int64_t x = 0; x < grid.width; ++x) {
      if (voxels[i * grid.width + x] == 0) continue;
      const std::int64_t at = first_of(i) + x;
      padded.voxels[at] = 1;
      left[count++] = static_cast<std::int32_t>(at);
    }
  }
  thin_padded(padded, grid.depth == 1, {left, static_cast<std::size_t>(count)}, left + set);
  for (std::int64_t i = 0; i < grid.depth * grid.height; ++i) {
    std::memcpy(voxels + i * grid.width, padded.voxels + first_of(i),
                static_cast<std::size_t>(grid.width));
  }
}

/// Adds the 6 neighbours of what is not 0. In memory of the thread.
void grow_by_neighbours(std::uint8_t* voxels, const LabelGrid& grid) {
  static thread_local Scratch memory;
  const std::int64_t count = grid.count();
  auto* before = memory.reserve<std::uint8_t>(static_cast<std::size_t>(count));
  std::memcpy(before, voxels, static_cast<std::size_t>(count));
  const auto spread = [&](std::int64_t first, std::int64_t last, std::int64_t step) {
    for (std::int64_t i = first; i < last; ++i) {
      voxels[i] = static_cast<std::uint8_t>(voxels[i] | before[i + step]);
      voxels[i + step] = static_cast<std::uint8_t>(voxels[i + step] | before[i]);
    }
  };
  spread(0, count - grid.plane(), grid.plane());
  for (std::int64_t z = 0; z < grid.depth; ++z)
    spread(z * grid.plane(), (z + 1) * grid.plane() - grid.width, grid.width);
  for (std::int64_t i = 0; i < count; i += grid.width)
    spread(i, i + grid.width - 1, 1);
}

}  // namespace
}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {
namespace {

[[noreturn]] void refuse_skeleton(const std::string& rule, const std::string& got) {
  throw ConfigError("[skeleton] " + rule + ", got " + got);
}

/// Each voxel of the skeleton gets the label's value.
void put_labels(const Tensor& label, std::uint8_t* skeleton) {
  detail::with_labels(label, [&](const auto* from) {
    for (std::int64_t i = 0; i < label.elements(); ++i) {
      if (skeleton[i] == 0) continue;
      const auto value = static_cast<std::int64_t>(from[i]);
      if (value < 0 || value > 255) {
        throw DataError("[skeleton] labels must be 0 to 255 to be kept, got " +
                        std::to_string(value));
      }
      skeleton[i] = static_cast<std::uint8_t>(value);
    }
  });
}

/// Places in lists are 32 bits.
void check_size(const detail::LabelGrid& grid) {
  const double padded = static_cast<double>(grid.depth + 2) * static_cast<double>(grid.height + 2) *
                        static_cast<double>(grid.width + 2);
  if (padded < 2147483647.0) return;
  throw DataError("[skeleton] a label must have fewer than 2^31 voxels");
}

}  // namespace

Schema Skeleton::schema(const Schema& in) const {
  const FieldSpec& label = detail::label_field(in, field, name());
  if (grow < 0 || grow > 100) refuse_skeleton("grow must be 0 to 100", std::to_string(grow));
  if (to == field) refuse_skeleton("to must be another field than the label", to);
  return detail::with_target(in, label, to, DType::uint8);
}

std::size_t Skeleton::working_bytes(const Schema& in) const {
  const detail::LabelGrid grid = detail::label_grid(detail::label_field(in, field, name()).shape);
  return detail::thinning_bytes(grid) + static_cast<std::size_t>(grid.count());
}

void Skeleton::operator()(Sample& sample) const {
  const Tensor label = detail::label_of(sample, field);
  const detail::LabelGrid grid = detail::label_grid(label.shape());
  check_size(grid);
  auto* out = sample.make(to, DType::uint8, label.shape()).data<std::uint8_t>();
  detail::mark_labels(label, labels, ignore, out);
  if (slices) {
    for (std::int64_t z = 0; z < grid.depth; ++z)
      detail::thin(out + z * grid.plane(), {1, grid.height, grid.width});
  } else {
    detail::thin(out, grid);
  }
  for (int i = 0; i < grow; ++i)
    detail::grow_by_neighbours(out, grid);
  if (keep_labels) put_labels(label, out);
}

}  // namespace headrace::inline v1
