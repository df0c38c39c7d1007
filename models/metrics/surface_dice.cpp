#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/surface_dice.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

namespace headrace::inline v1::models::detail {
namespace {

/// Voxels that CellSearch looks far at most: both ways are one word of bits.
constexpr int most_tolerance = 31;

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

/// The cells of 2 x 2 x 2 voxels that are neither all background nor all foreground; cell (z, y, x)
/// ends with that voxel, so that there is one more along each axis.
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

}  // namespace
}  // namespace headrace::inline v1::models::detail

namespace headrace::inline v1::models {
namespace {

/// The edges of a cube among some of its corners.
struct CornerGraph {
  explicit CornerGraph(unsigned corners) : count(std::popcount(corners)) {
    for (unsigned a = 0; a < 8; ++a) {
      if ((corners >> a & 1U) == 0) continue;
      int degree = 0;
      for (const unsigned axis : {1U, 2U, 4U})
        degree += static_cast<int>(corners >> (a ^ axis) & 1U);
      most = std::max(most, degree);
      edges += degree;
    }
    edges /= 2;
  }
  int count;
  int edges = 0;
  int most = 0;  ///< edges at one corner
};

double area_of(const CornerGraph& set) {
  const double a = std::numbers::sqrt3 / 8;
  const double b = std::numbers::sqrt2 / 4;
  const double c = 0.5;
  const double d = std::numbers::sqrt3 / 4;
  const double f = 3 * std::numbers::sqrt3 / 8;
  switch (set.count) {
    case 1:
      return a;
    case 2:
      return set.edges == 1 ? 2 * b : 2 * a;
    case 3:
      return set.edges == 2 ? c + d + a : set.edges == 1 ? a + 2 * b : 3 * a;
    case 4:
      if (set.edges == 4) return 1.0;
      if (set.edges == 3) return set.most == 3 ? 2 * a + 2 * d : f + 2 * b + a;
      if (set.edges == 2) return set.most == 2 ? c + d + 2 * a : 4 * b;
      return 4 * a;
    default:
      return 0.0;
  }
}

using Areas = std::array<double, 256>;

const Areas& areas() {
  static const Areas table = [] {
    Areas made{};
    for (unsigned cell = 1; cell < 255; ++cell)
      made[cell] = area_of(CornerGraph(std::popcount(cell) > 4 ? cell ^ 255U : cell));
    return made;
  }();
  return table;
}

/// Whole squares of distances that are within the tolerances.
std::vector<int> squares_of(std::span<const double> tolerances) {
  if (tolerances.empty() || tolerances.size() > 64) {
    throw ConfigError("[surface dice] there must be 1 to 64 tolerances, got " +
                      std::to_string(tolerances.size()));
  }
  std::vector<int> squares;
  for (const double tolerance : tolerances) {
    if (!(tolerance >= 0.0 && tolerance <= detail::most_tolerance)) {
      throw ConfigError("[surface dice] a tolerance must be 0 to 31 voxels, got " +
                        std::to_string(tolerance));
    }
    squares.push_back(static_cast<int>(std::floor(tolerance * tolerance + 1e-9)));
  }
  return squares;
}

/// Cells by kind: of all, then within each tolerance. Whole numbers, so that their sums are the
/// same in any order.
struct CellCounts {
  explicit CellCounts(std::size_t tolerances) : of(tolerances + 1) {}

  void add(unsigned cell, int square, const std::vector<int>& squares) {
    ++of[0][cell];
    for (std::size_t i = 0; i < squares.size(); ++i)
      of[i + 1][cell] += square <= squares[i] ? 1 : 0;
  }
  void add(const CellCounts& other) {
    for (std::size_t i = 0; i < of.size(); ++i)
      for (std::size_t cell = 0; cell < 256; ++cell)
        of[i][cell] += other.of[i][cell];
  }
  double area(std::size_t i) const {
    double sum = 0.0;
    for (std::size_t cell = 0; cell < 256; ++cell)
      sum += areas()[cell] * static_cast<double>(of[i][cell]);
    return sum;
  }

  std::vector<std::array<std::int64_t, 256>> of;
};

/// The cells of one mask's surface, by their distance to the other's.
CellCounts count_cells(const VoxelBits& mask, const VoxelBits& cells, const VoxelBits& others,
                       const std::vector<int>& squares) {
  const detail::CellSearch search(others, std::ranges::max(squares));
  const oneapi::tbb::blocked_range<std::int64_t> slices(0, cells.extent()[0]);
  const auto count = [&](const oneapi::tbb::blocked_range<std::int64_t>& range, CellCounts counts) {
    for (std::int64_t z = range.begin(); z < range.end(); ++z) {
      detail::for_cells(mask, cells, z, [&](std::int64_t y, std::int64_t x, unsigned cell) {
        counts.add(cell, search.square(z, y, x), squares);
      });
    }
    return counts;
  };
  const auto join = [](CellCounts a, const CellCounts& b) {
    a.add(b);
    return a;
  };
  return oneapi::tbb::parallel_reduce(slices, CellCounts(squares.size()), count, join);
}

}  // namespace

double surface_area(unsigned cell) {
  return areas()[cell & 255U];
}

SurfaceDice surface_dice(const MaskPair& pair, std::span<const double> tolerances) {
  const std::vector<int> squares = squares_of(tolerances);
  const VoxelBits predicted = detail::surface_cells(pair.prediction());
  const VoxelBits true_cells = detail::surface_cells(pair.truth());
  const CellCounts prediction = count_cells(pair.prediction(), predicted, true_cells, squares);
  const CellCounts truth = count_cells(pair.truth(), true_cells, predicted, squares);
  SurfaceDice result{.prediction_area = prediction.area(0), .truth_area = truth.area(0)};
  const double both = result.prediction_area + result.truth_area;
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    SurfaceAgreement at{.tolerance = tolerances[i],
                        .prediction_near = prediction.area(i + 1),
                        .truth_near = truth.area(i + 1)};
    at.dice = both > 0.0 ? (at.prediction_near + at.truth_near) / both : 1.0;
    result.at.push_back(at);
  }
  return result;
}

}  // namespace headrace::inline v1::models
