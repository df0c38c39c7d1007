// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/engine/base/internal/vector_target.h>
#include <headrace/loaders/image/resize_kernels.h>

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/loaders/image/resize_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A level v travels as v << 8; a product keeps the upper 16 bits, which loses half a unit on
// average, so a sum starts with half the number of its taps.

#if HWY_TARGET == HWY_SCALAR  // no vectors at all: the same arithmetic in plain code

std::uint16_t upper_half(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint16_t>(a * (b & 0xffff) >> 16);
}

void resize(const ResizeKernelTask& task) {
  for (int y = 0; y < task.out_height; ++y) {
    const std::uint8_t* top =
        task.data + static_cast<std::ptrdiff_t>(task.stride) * task.row_first[y];
    for (int i = 0; i < 4 * task.columns; ++i) {
      unsigned sum = static_cast<unsigned>(task.row_taps) / 2;
      for (int k = 0; k < task.row_taps; ++k) {
        sum += upper_half(top[task.stride * static_cast<std::size_t>(k) + i] * 256U,
                          task.row_weights[y * task.row_taps + k]);
      }
      task.line[i] = static_cast<std::uint16_t>(sum);
    }
    std::uint8_t* out = task.out + static_cast<std::ptrdiff_t>(y) * task.out_width * 3;
    for (int x = 0; x < task.out_width; ++x) {
      const std::uint16_t* from = task.line + std::ptrdiff_t{4} * task.column_first[x];
      for (int c = 0; c < 3; ++c) {
        unsigned sum = 128U + static_cast<unsigned>(task.column_taps) / 2;
        for (int k = 0; k < task.column_taps; ++k)
          sum += upper_half(from[4 * k + c], task.column_weights[x * task.column_taps + k]);
        *out++ = static_cast<std::uint8_t>(sum >> 8);
      }
    }
  }
}

#else

// Several output rows go together: a vector holds one column of them, four values a row (red, blue,
// green, unused). So the horizontal pass needs no sums across a vector.
constexpr int lanes = HWY_MAX_BYTES >= 32 ? 16 : 8;
constexpr int rows = lanes / 4;    // that go together
constexpr int pixels = lanes / 2;  // of one row in a vector of bytes
using D8 = hn::FixedTag<std::uint8_t, 2 * lanes>;
using D16 = hn::FixedTag<std::uint16_t, lanes>;
using D32 = hn::FixedTag<std::uint32_t, lanes / 2>;
using D64 = hn::FixedTag<std::uint64_t, lanes / 4>;
using V16 = hn::Vec<D16>;
using V64 = hn::Vec<D64>;

HWY_INLINE V16 spread(std::uint32_t weight) {
  return hn::BitCast(D16(), hn::Set(D32(), weight));
}

/// One row's blend of `pixels` columns: even and odd bytes apart, then pixels of 64 bits: in `low`
/// the first two of each 128-bit block, in `high` the last two.
template <int kTaps>
HWY_INLINE void blend_pixels(const ResizeKernelTask& task, const std::uint8_t* top,
                             const std::uint32_t* weights, V64& low, V64& high) {
  const D16 d16;
  const int taps = kTaps > 0 ? kTaps : task.row_taps;
  V16 even = hn::Set(d16, static_cast<std::uint16_t>(taps / 2));
  V16 odd = even;
  const V16 upper = hn::Set(d16, 0xff00);
  for (int k = 0; k < taps; ++k, top += task.stride) {
    const V16 levels = hn::BitCast(d16, hn::LoadU(D8(), top));
    const V16 weight = spread(weights[k]);
    even = hn::Add(even, hn::MulHigh(hn::ShiftLeft<8>(levels), weight));
    odd = hn::Add(odd, hn::MulHigh(hn::And(levels, upper), weight));
  }
  const auto a = hn::BitCast(D32(), even);
  const auto b = hn::BitCast(D32(), odd);
  low = hn::BitCast(D64(), hn::InterleaveLower(D32(), a, b));
  high = hn::BitCast(D64(), hn::InterleaveUpper(D32(), a, b));
}

HWY_INLINE void store_column(V64 column, std::uint16_t* to) {
  hn::Store(hn::BitCast(D16(), column), D16(), to);
}

/// Vectors of rows to vectors of columns: of the columns `at` and at + 1 of each block.
HWY_INLINE void store_columns(const V64* of_rows, int at, std::uint16_t* line) {
  const D64 d64;
  const V64 first = hn::InterleaveLower(d64, of_rows[0], of_rows[1]);
  const V64 second = hn::InterleaveUpper(d64, of_rows[0], of_rows[1]);
#if HWY_MAX_BYTES >= 32
  const V64 first2 = hn::InterleaveLower(d64, of_rows[2], of_rows[3]);
  const V64 second2 = hn::InterleaveUpper(d64, of_rows[2], of_rows[3]);
  store_column(hn::ConcatLowerLower(d64, first2, first), line + at * lanes);
  store_column(hn::ConcatLowerLower(d64, second2, second), line + (at + 1) * lanes);
  store_column(hn::ConcatUpperUpper(d64, first2, first), line + (at + 4) * lanes);
  store_column(hn::ConcatUpperUpper(d64, second2, second), line + (at + 5) * lanes);
#else
  store_column(first, line + at * lanes);
  store_column(second, line + (at + 1) * lanes);
#endif
}

/// The vertical pass of output rows y to y + rows; past the last one it is repeated.
template <int kTaps>
HWY_NOINLINE void blend_rows(const ResizeKernelTask& task, int y) {
  const std::uint8_t* top[rows];
  const std::uint32_t* weights[rows];
  for (int r = 0; r < rows; ++r) {
    const std::ptrdiff_t row = std::min(y + r, task.out_height - 1);
    top[r] = task.data + static_cast<std::ptrdiff_t>(task.stride) * task.row_first[row];
    weights[r] = task.row_weights + row * task.row_taps;
  }
  for (std::ptrdiff_t x = 0; x < task.columns; x += pixels) {
    V64 low[rows];
    V64 high[rows];
    for (int r = 0; r < rows; ++r)
      blend_pixels<kTaps>(task, top[r] + 4 * x, weights[r], low[r], high[r]);
    store_columns(low, 0, task.line + x * lanes);
    store_columns(high, 2, task.line + x * lanes);
  }
}

/// Four output columns of all rows, three bytes each, to the places in `out`.
HWY_INLINE void write_pixels(const V16* sums, std::uint8_t* const* out, int count, int width) {
  const D16 d16;
  const D64 d64;
  const hn::FixedTag<std::uint8_t, 16> d8;
  const V16 upper = hn::Set(d16, 0xff00);
  // Bytes of two columns in turn: red, blue, green, unused.
  const auto pair = [&](V16 a, V16 b) HWY_ATTR {
    return hn::BitCast(d64, hn::Or(hn::ShiftRight<8>(a), hn::And(b, upper)));
  };
  const V64 first = pair(sums[0], sums[1]);
  const V64 second = pair(sums[2], sums[3]);
  alignas(16) static constexpr std::uint8_t order[16] = {0,  4, 2,  1,  5,   3,   8,   12,
                                                         10, 9, 13, 11, 128, 128, 128, 128};
  const auto places = hn::Load(d8, order);
  const auto write = [&](auto bytes, int row) HWY_ATTR {
    if (row >= count) return;
    const auto packed = hn::TableLookupBytesOr0(bytes, places);
    if (width >= 6) {
      hn::StoreU(packed, d8, out[row]);
    } else {
      alignas(16) std::uint8_t rest[16];
      hn::Store(packed, d8, rest);
      std::memcpy(out[row], rest, static_cast<std::size_t>(std::min(width, 4)) * 3);
    }
  };
  const auto even = hn::BitCast(D8(), hn::InterleaveLower(d64, first, second));
  const auto odd = hn::BitCast(D8(), hn::InterleaveUpper(d64, first, second));
#if HWY_MAX_BYTES >= 32
  write(hn::LowerHalf(even), 0);
  write(hn::LowerHalf(odd), 1);
  write(hn::UpperHalf(d8, even), 2);
  write(hn::UpperHalf(d8, odd), 3);
#else
  write(even, 0);
  write(odd, 1);
#endif
}

/// The horizontal pass of the rows in `line`.
template <int kTaps>
HWY_NOINLINE void blend_columns(const ResizeKernelTask& task, int y) {
  const D16 d16;
  const int taps = kTaps > 0 ? kTaps : task.column_taps;
  const int count = std::min(rows, task.out_height - y);
  std::uint8_t* out[rows];
  for (int r = 0; r < rows; ++r) {
    out[r] = task.out +
             static_cast<std::ptrdiff_t>(std::min(y + r, task.out_height - 1)) * task.out_width * 3;
  }
  const V16 start = hn::Set(d16, static_cast<std::uint16_t>(128 + taps / 2));
  const std::uint32_t* weights = task.column_weights;
  for (int x = 0; x < task.out_width; x += 4) {
    V16 sums[4];
    for (int i = 0; i < 4; ++i, weights += taps) {
      const std::uint16_t* from =
          task.line + static_cast<std::ptrdiff_t>(task.column_first[x + i]) * lanes;
      V16 sum = start;
      for (int k = 0; k < taps; ++k)
        sum = hn::Add(sum, hn::MulHigh(hn::Load(d16, from + k * lanes), spread(weights[k])));
      sums[i] = sum;
    }
    write_pixels(sums, out, count, task.out_width - x);
    for (std::uint8_t*& row : out)
      row += 12;
  }
}

using Pass = void (*)(const ResizeKernelTask&, int);

/// Filters of few taps, the usual case, have code of their own.
constexpr Pass row_passes[] = {blend_rows<0>, blend_rows<1>, blend_rows<2>, blend_rows<3>,
                               blend_rows<4>, blend_rows<5>, blend_rows<6>};
constexpr Pass column_passes[] = {blend_columns<0>, blend_columns<1>, blend_columns<2>,
                                  blend_columns<3>, blend_columns<4>, blend_columns<5>,
                                  blend_columns<6>};

void resize(const ResizeKernelTask& task) {
  const Pass row_pass = row_passes[task.row_taps <= 6 ? task.row_taps : 0];
  const Pass column_pass = column_passes[task.column_taps <= 6 ? task.column_taps : 0];
  for (int y = 0; y < task.out_height; y += rows) {
    row_pass(task, y);
    column_pass(task, y);
  }
}

#endif

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(resize);
}

bool run_resize_kernel(const ResizeKernelTask& task, int target) {
  HEADRACE_RUN(resize, task);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
