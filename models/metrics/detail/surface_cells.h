#pragma once

#include <headrace/augment/volume/voxel_bits.h>

#include <bit>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::models::detail {

/// Voxels that CellSearch looks far at most: both ways are one word of bits.
inline constexpr int most_tolerance = 31;

/// The cells of 2 x 2 x 2 voxels that are neither all background nor all foreground; cell (z, y, x)
/// ends with that voxel, so that there is one more along each axis.
VoxelBits surface_cells(const VoxelBits& mask);

/// Squared distances to the nearest of some cells.
class CellSearch {
 public:
  /// `cells` must stay. `square` is the largest that is looked for.
  CellSearch(const VoxelBits& cells, int square);
  /// At most `square`, or one more where no cell is so near.
  int square(std::int64_t z, std::int64_t y, std::int64_t x) const;

 private:
  struct RowStep {
    int z;
    int y;
    int square;
  };
  std::uint64_t around(std::int64_t z, std::int64_t y, std::int64_t x) const;

  const VoxelBits& cells_;
  int beyond_;
  std::vector<RowStep> steps_;  // the near ones first
};

/// Calls `use(y, x, cell)` for each of the cells of slice z: bit 4 z + 2 y + x of `cell` says
/// whether a voxel is foreground.
template <class Use>
void for_cells(const VoxelBits& mask, const VoxelBits& cells, std::int64_t z, const Use& use) {
  const GridExtent& extent = cells.extent();
  for (std::int64_t y = 0; y < extent[1]; ++y) {
    const std::uint64_t* marked = cells.row(z, y);
    const std::uint64_t* rows[4] = {mask.row(z - 1, y - 1), mask.row(z - 1, y), mask.row(z, y - 1),
                                    mask.row(z, y)};
    const auto bit = [](const std::uint64_t* row, std::int64_t x) {
      return static_cast<unsigned>(row[x / 64] >> (x % 64) & 1U);
    };
    for (std::int64_t i = 0; i < cells.row_words(); ++i) {
      for (std::uint64_t left = marked[i]; left != 0; left &= left - 1) {
        const std::int64_t x = i * 64 + std::countr_zero(left);
        unsigned cell = 0;
        for (unsigned r = 0; r < 4; ++r) {
          const unsigned before = x > 0 ? bit(rows[r], x - 1) : 0U;
          cell |= (before | bit(rows[r], x) << 1) << (2 * r);
        }
        use(y, x, cell);
      }
    }
  }
}

}  // namespace headrace::inline v1::models::detail
