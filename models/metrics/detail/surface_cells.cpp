#include <headrace/models/metrics/detail/surface_cells.h>

#include <algorithm>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

namespace headrace::inline v1::models::detail {
namespace {

/// The cells that end with row y of slice z.
void mark_row(const VoxelBits& mask, std::int64_t z, std::int64_t y, std::uint64_t* to) {
  const std::uint64_t* a = mask.row(z - 1, y - 1);
  const std::uint64_t* b = mask.row(z - 1, y);
  const std::uint64_t* c = mask.row(z, y - 1);
  const std::uint64_t* d = mask.row(z, y);
  std::uint64_t some_carry = 0;
  std::uint64_t all_carry = 0;
  for (std::int64_t i = 0; i < mask.row_words(); ++i) {
    const std::uint64_t some = a[i] | b[i] | c[i] | d[i];
    const std::uint64_t all = a[i] & b[i] & c[i] & d[i];
    to[i] = (some | some << 1 | some_carry) & ~(all & (all << 1 | all_carry));
    some_carry = some >> 63;
    all_carry = all >> 63;
  }
}

}  // namespace

VoxelBits surface_cells(const VoxelBits& mask) {
  const GridExtent& extent = mask.extent();
  VoxelBits cells({extent[0] + 1, extent[1] + 1, extent[2] + 1});
  oneapi::tbb::parallel_for(std::int64_t{0}, extent[0] + 1, [&](std::int64_t z) {
    for (std::int64_t y = 0; y <= extent[1]; ++y)
      mark_row(mask, z, y, cells.row(z, y));
  });
  return cells;
}

CellSearch::CellSearch(const VoxelBits& cells, int square) : cells_(cells), beyond_(square + 1) {
  for (int z = -most_tolerance; z <= most_tolerance; ++z) {
    for (int y = -most_tolerance; y <= most_tolerance; ++y)
      if (z * z + y * y <= square) steps_.push_back({z, y, z * z + y * y});
  }
  std::ranges::stable_sort(steps_, {}, &RowStep::square);
}

std::uint64_t CellSearch::around(std::int64_t z, std::int64_t y, std::int64_t x) const {
  const GridExtent& extent = cells_.extent();
  if (z < 0 || z >= extent[0] || y < 0 || y >= extent[1]) return 0;
  const std::uint64_t* row = cells_.row(z, y);
  const std::int64_t begin = x - most_tolerance;
  if (begin < 0) return row[0] << -begin;
  const std::int64_t word = begin / 64;
  const int shift = static_cast<int>(begin % 64);
  if (shift == 0 || word + 1 >= cells_.row_words()) return row[word] >> shift;
  return row[word] >> shift | row[word + 1] << (64 - shift);
}

int CellSearch::square(std::int64_t z, std::int64_t y, std::int64_t x) const {
  int best = beyond_;
  for (const RowStep& step : steps_) {
    if (step.square >= best) break;
    const std::uint64_t bits = around(z + step.z, y + step.y, x);
    if (bits == 0) continue;
    const std::uint64_t before = bits << (63 - most_tolerance);
    const std::uint64_t behind = bits >> most_tolerance;
    const int steps = std::min(std::countl_zero(before), std::countr_zero(behind));
    best = std::min(best, step.square + steps * steps);
  }
  return best;
}

}  // namespace headrace::inline v1::models::detail
