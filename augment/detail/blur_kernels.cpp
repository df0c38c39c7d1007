// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/blur.h>
#include <headrace/augment/detail/scratch.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/detail/blur_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A level v travels as v << 8; a product keeps the upper 16 bits, which loses half a unit on
// average, so a sum starts with half the number of taps.

std::uint16_t product(unsigned level, unsigned weight) {
  return static_cast<std::uint16_t>(level * weight >> 16);
}

/// One row of sums over the rows around y, 8 fraction bits.
void blend_rows(const BlurTask& task, std::int64_t y, std::uint16_t* line) {
  const std::int64_t values = task.picture.row_bytes();
  const int reach = task.row_taps / 2;
  const auto row = [&](int k) {
    return task.picture.data + reflected(y + k - reach, task.picture.height) * values;
  };
  const auto start = static_cast<std::uint16_t>(reach);
  std::int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (values >= lanes) {
    for (std::int64_t i = 0; i < values; i += lanes) {
      i = std::min(i, values - lanes);
      auto sum = hn::Set(d, start);
      for (int k = 0; k < task.row_taps; ++k) {
        const auto level = hn::ShiftLeft<8>(hn::PromoteTo(d, hn::LoadU(d8, row(k) + i)));
        sum = hn::Add(sum, hn::MulHigh(level, hn::Set(d, task.row_weights[k])));
      }
      hn::StoreU(sum, d, line + i);
    }
    done = values;
  }
#endif
  for (; done < values; ++done) {
    unsigned sum = start;
    for (int k = 0; k < task.row_taps; ++k)
      sum += product(row(k)[done] * 256U, task.row_weights[k]);
    line[done] = static_cast<std::uint16_t>(sum);
  }
}

/// The row's reflection on both sides, where `line` points at its first value.
void reflect_ends(const Picture& picture, int reach, std::uint16_t* line) {
  const std::int64_t channels = picture.channels;
  const std::size_t bytes = static_cast<std::size_t>(channels) * sizeof(std::uint16_t);
  for (std::int64_t i = 1; i <= reach; ++i) {
    std::memcpy(line - i * channels, line + i * channels, bytes);
    std::memcpy(line + (picture.width - 1 + i) * channels,
                line + (picture.width - 1 - i) * channels, bytes);
  }
}

void blend_columns(const BlurTask& task, const std::uint16_t* line, std::uint8_t* out) {
  const std::int64_t values = task.picture.row_bytes();
  const std::int64_t channels = task.picture.channels;
  const int reach = task.column_taps / 2;
  const std::uint16_t* first = line - reach * channels;
  const auto start = static_cast<std::uint16_t>(128 + reach);
  std::int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const hn::Rebind<std::int16_t, decltype(d)> signed16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (values >= lanes) {
    for (std::int64_t i = 0; i < values; i += lanes) {
      i = std::min(i, values - lanes);
      auto sum = hn::Set(d, start);
      for (int k = 0; k < task.column_taps; ++k) {
        sum = hn::Add(sum, hn::MulHigh(hn::LoadU(d, first + i + k * channels),
                                       hn::Set(d, task.column_weights[k])));
      }
      hn::StoreU(hn::DemoteTo(d8, hn::BitCast(signed16, hn::ShiftRight<8>(sum))), d8, out + i);
    }
    done = values;
  }
#endif
  for (; done < values; ++done) {
    unsigned sum = start;
    for (int k = 0; k < task.column_taps; ++k)
      sum += product(first[done + k * channels], task.column_weights[k]);
    out[done] = static_cast<std::uint8_t>(sum >> 8);
  }
}

void filter(const BlurTask& task, std::uint16_t* line) {
  const int reach = task.column_taps / 2;
  line += reach * task.picture.channels;
  for (std::int64_t y = 0; y < task.picture.height; ++y) {
    blend_rows(task, y, line);
    reflect_ends(task.picture, reach, line);
    blend_columns(task, line, task.out + y * task.picture.row_bytes());
  }
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(filter);
}

std::size_t blur_line_values(std::int64_t width, std::int64_t channels, int column_taps) {
  return static_cast<std::size_t>((width + column_taps) * channels);
}

bool blur(const BlurTask& task, int target) {
  static thread_local Scratch memory;
  auto* line = memory.reserve<std::uint16_t>(
      blur_line_values(task.picture.width, task.picture.channels, task.column_taps));
  HEADRACE_RUN(filter, task, line);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
