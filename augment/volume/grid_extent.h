#pragma once

#include <array>
#include <cstdint>

namespace headrace::inline v1 {

/// A place, an extent or a step along z, y, x, in that order; x lies fastest in memory.
using GridExtent = std::array<std::int64_t, 3>;

/// Voxels [begin, end) of a grid.
struct GridBox {
  GridExtent begin{};
  GridExtent end{};

  friend bool operator==(const GridBox&, const GridBox&) = default;
};

/// Voxels; 0 where an extent is not positive.
constexpr std::int64_t voxels_of(const GridExtent& extent) noexcept {
  for (std::int64_t side : extent)
    if (side <= 0) return 0;
  return extent[0] * extent[1] * extent[2];
}

}  // namespace headrace::inline v1
