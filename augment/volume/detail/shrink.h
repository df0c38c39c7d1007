#pragma once

#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/detail/volume_filters.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::detail {

/// The voxels of one axis that a smaller one covers, in part or whole.
struct Covered {
  std::int64_t first;
  std::int64_t last;  ///< exclusive
};

inline Covered covered(std::int64_t at, std::int64_t from, std::int64_t to) {
  return {at * from / to, ((at + 1) * from + to - 1) / to};
}

/// nearest_exact() along each axis, along x by the table `columns`.
template <class Label>
void shrink_nearest(const Label* from, const LabelGrid& grid, const LabelGrid& small,
                    const std::int32_t* columns, Label* to) {
  for (std::int64_t z = 0; z < small.depth; ++z) {
    const Label* plane = from + nearest_exact(z, grid.depth, small.depth) * grid.plane();
    for (std::int64_t y = 0; y < small.height; ++y) {
      const Label* row = plane + nearest_exact(y, grid.height, small.height) * grid.width;
      for (std::int64_t x = 0; x < small.width; ++x)
        *to++ = row[columns[x]];
    }
  }
}

/// Writes nearest_exact() of each x.
inline void make_columns(std::int64_t from, std::int64_t to, std::int32_t* columns) {
  for (std::int64_t x = 0; x < to; ++x)
    columns[x] = static_cast<std::int32_t>(nearest_exact(x, from, to));
}

/// Whether b is to be kept rather than a: foreground before `ignore` before 0, large before small.
template <class Label>
bool stronger(Label b, Label a, std::int64_t ignore) {
  const auto rank = [&](Label v) {
    return v == 0 ? 0 : static_cast<std::int64_t>(v) == ignore ? 1 : 2;
  };
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  return rank_b != rank_a ? rank_b > rank_a : b > a;
}

/// The strongest label of a box.
template <class Label>
Label strongest(const Label* from, const LabelGrid& grid, const std::array<Covered, 3>& box,
                std::int64_t ignore) {
  Label best = 0;
  for (std::int64_t z = box[0].first; z < box[0].last; ++z) {
    for (std::int64_t y = box[1].first; y < box[1].last; ++y) {
      const Label* row = from + z * grid.plane() + y * grid.width;
      for (std::int64_t x = box[2].first; x < box[2].last; ++x) {
        if (row[x] != best && stronger(row[x], best, ignore)) best = row[x];
      }
    }
  }
  return best;
}

/// strongest() of what each smaller voxel covers.
template <class Label>
void shrink_surface(const Label* from, const LabelGrid& grid, const LabelGrid& small,
                    std::int64_t ignore, Label* to) {
  for (std::int64_t z = 0; z < small.depth; ++z) {
    for (std::int64_t y = 0; y < small.height; ++y) {
      for (std::int64_t x = 0; x < small.width; ++x) {
        *to++ =
            strongest(from, grid,
                      {covered(z, grid.depth, small.depth), covered(y, grid.height, small.height),
                       covered(x, grid.width, small.width)},
                      ignore);
      }
    }
  }
}

}  // namespace headrace::inline v1::detail
