// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/volume/detail/bit_kernels.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/volume/detail/bit_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {
namespace {  // other kernels' helpers have such names, too

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint64_t, most_lanes>;

#if HWY_TARGET == HWY_SCALAR
constexpr std::int64_t mark_count() {
  return 8;
}

void mark_lanes(const std::uint8_t* from, std::uint8_t value, std::uint8_t* to) {
  unsigned bits = 0;
  for (unsigned i = 0; i < 8; ++i)
    bits |= static_cast<unsigned>(from[i] != value) << i;
  *to = static_cast<std::uint8_t>(bits);
}
#else
using Bytes = hn::CappedTag<std::uint8_t, 64>;

HWY_INLINE std::int64_t mark_count() {
  return static_cast<std::int64_t>(hn::Lanes(Bytes()));
}

/// A bit for each lane whose value is another.
HWY_INLINE void mark_lanes(const std::uint8_t* from, std::uint8_t value, std::uint8_t* to) {
  const Bytes d;
  std::uint8_t bits[8];  // that many may be written
  hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, from), hn::Set(d, value)), bits);
  std::memcpy(to, bits, hn::Lanes(d) / 8);
}
#endif

void mark_rows(const MarkTask& task) {
  const std::int64_t lanes = mark_count();
  std::uint8_t tail[64];
  for (std::int64_t y = 0; y < task.height; ++y) {
    const std::uint8_t* from = task.voxels + y * task.width;
    auto* to = reinterpret_cast<std::uint8_t*>(task.rows + y * task.row_words);
    std::int64_t x = 0;
    for (; x + lanes <= task.width; x += lanes)
      mark_lanes(from + x, task.value, to + x / 8);
    if (x == task.width) continue;
    std::memset(tail, task.value, sizeof(tail));
    std::memcpy(tail, from + x, static_cast<std::size_t>(task.width - x));
    mark_lanes(tail, task.value, to + x / 8);
  }
}

template <bool kByCorners>
HWY_INLINE hn::Vec<Words> joined(hn::Vec<Words> a, hn::Vec<Words> b) {
  return kByCorners ? hn::Or(a, b) : hn::And(a, b);
}

/// Bits that begin a run; `before` are the words one earlier.
HWY_INLINE hn::Vec<Words> begins(hn::Vec<Words> words, hn::Vec<Words> before) {
  const auto left = hn::Or(hn::ShiftLeft<1>(words), hn::ShiftRight<63>(before));
  return hn::PopulationCount(hn::AndNot(left, words));
}

/// Row d, b a slice before it, c a row before it, a both.
template <bool kByCorners>
std::int64_t euler(const RowGrid& grid) {
  const Words words;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(words));
  const std::int64_t count = (grid.slices + 1) * grid.slice_words;
  auto sum = hn::Zero(words);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const std::uint64_t* d = grid.first + i;
    const std::uint64_t* c = d - grid.row_words;
    const std::uint64_t* b = d - grid.slice_words;
    const std::uint64_t* a = c - grid.slice_words;
    const auto dc = joined<kByCorners>(hn::LoadU(words, d), hn::LoadU(words, c));
    const auto dc_before = joined<kByCorners>(hn::LoadU(words, d - 1), hn::LoadU(words, c - 1));
    const auto ba = joined<kByCorners>(hn::LoadU(words, b), hn::LoadU(words, a));
    const auto ba_before = joined<kByCorners>(hn::LoadU(words, b - 1), hn::LoadU(words, a - 1));
    const auto db = joined<kByCorners>(hn::LoadU(words, d), hn::LoadU(words, b));
    const auto db_before = joined<kByCorners>(hn::LoadU(words, d - 1), hn::LoadU(words, b - 1));
    sum = hn::Add(sum, begins(hn::LoadU(words, d), hn::LoadU(words, d - 1)));
    sum = hn::Sub(sum, hn::Add(begins(dc, dc_before), begins(db, db_before)));
    sum =
        hn::Add(sum, begins(joined<kByCorners>(dc, ba), joined<kByCorners>(dc_before, ba_before)));
  }
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(words, sum)));
}

void euler_by(const RowGrid& grid, bool by_corners, std::int64_t& found) {
  found = by_corners ? euler<true>(grid) : euler<false>(grid);
}

}  // namespace
}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(mark_rows);
HWY_EXPORT(euler_by);
}  // namespace

bool mark_slice(const MarkTask& task, int target) {
  HEADRACE_RUN(mark_rows, task);
  return true;
}

bool euler_of_runs(const RowGrid& grid, bool by_corners, std::int64_t& euler, int target) {
  HEADRACE_RUN(euler_by, grid, by_corners, euler);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
