// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/loaders/image/resize_kernels.h>

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/loaders/image/resize_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A level v travels as v << 8; a product keeps the upper 16 bits, which loses half a unit on
// average, so the sum starts with half the number of taps.

#if HWY_TARGET == HWY_SCALAR  // no vectors at all: the same arithmetic in plain code

std::uint16_t upper_half(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint16_t>(a * b >> 16);
}

void resize(const ResizeKernelTask& task) {
  std::uint8_t* out = task.out;
  for (int y = 0; y < task.out_height; ++y) {
    const std::uint8_t* top =
        task.data + static_cast<std::ptrdiff_t>(task.stride) * task.row_first[y];
    for (std::size_t i = 0; i < task.row_bytes; ++i) {
      unsigned sum = static_cast<unsigned>(task.rows) / 2;
      for (int k = 0; k < task.rows; ++k) {
        sum += upper_half(top[task.stride * static_cast<std::size_t>(k) + i] * 256U,
                          task.row_weights[y * task.rows + k]);
      }
      task.line[i] = static_cast<std::uint16_t>(sum);
    }
    for (int x = 0; x < task.out_width; ++x) {
      const std::uint16_t* from = task.line + std::ptrdiff_t{4} * task.column_first[x];
      const std::uint16_t* weights =
          task.column_weights + std::ptrdiff_t{8} * x * task.column_pairs;
      for (int c = 0; c < 3; ++c) {
        unsigned sum = 128U + static_cast<unsigned>(task.column_pairs);
        for (int k = 0; k < 2 * task.column_pairs; ++k) {
          sum += upper_half(from[4 * k + c], weights[4 * k]);
        }
        *out++ = static_cast<std::uint8_t>(sum >> 8);
      }
    }
  }
}

#else

template <int kTaps>
HWY_INLINE void blend_rows(const ResizeKernelTask& task, int y, int taps) {
  const hn::ScalableTag<std::uint16_t> d16;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  const int count = kTaps > 0 ? kTaps : taps;
  const std::uint8_t* top =
      task.data + static_cast<std::ptrdiff_t>(task.stride) * task.row_first[y];
  const std::uint16_t* weights = task.row_weights + static_cast<std::ptrdiff_t>(y) * task.rows;
  const auto start = hn::Set(d16, static_cast<std::uint16_t>(count / 2));
  for (std::size_t x = 0; x < task.row_bytes; x += hn::Lanes(d16)) {
    auto sum = start;
    for (int k = 0; k < count; ++k) {
      const auto levels =
          hn::PromoteTo(d16, hn::LoadU(d8, top + task.stride * static_cast<std::size_t>(k) + x));
      sum = hn::Add(sum, hn::MulHigh(hn::ShiftLeft<8>(levels), hn::Set(d16, weights[k])));
    }
    hn::StoreU(sum, d16, task.line + x);
  }
}

template <int kPairs>
HWY_INLINE void blend_columns(const ResizeKernelTask& task, int pairs, std::uint8_t* out) {
  const hn::FixedTag<std::uint16_t, 8> d16;
  const hn::FixedTag<std::uint8_t, 16> d8;
  const hn::FixedTag<std::uint64_t, 2> d64;
  const int count = kPairs > 0 ? kPairs : pairs;
  alignas(16) static constexpr std::uint8_t upper_bytes[2][16] = {
      {1, 3, 5, 9, 11, 13, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
      {128, 128, 128, 128, 128, 128, 1, 3, 5, 9, 11, 13, 128, 128, 128, 128}};
  const auto first_two = hn::Load(d8, upper_bytes[0]);
  const auto last_two = hn::Load(d8, upper_bytes[1]);
  const auto round = hn::Set(d16, static_cast<std::uint16_t>(128 + count));
  const auto one = [&](int x) HWY_ATTR {
    const std::uint16_t* from = task.line + static_cast<std::ptrdiff_t>(task.column_first[x]) * 4;
    const std::uint16_t* weights =
        task.column_weights + static_cast<std::ptrdiff_t>(x) * task.column_pairs * 8;
    auto sum = hn::MulHigh(hn::LoadU(d16, from), hn::Load(d16, weights));
    for (int k = 1; k < count; ++k) {
      sum = hn::Add(sum, hn::MulHigh(hn::LoadU(d16, from + 8 * k), hn::Load(d16, weights + 8 * k)));
    }
    return hn::BitCast(d64, sum);
  };
  const auto two = [&](int x) HWY_ATTR {
    const auto a = one(x);
    const auto b = one(x + 1);
    const auto even = hn::BitCast(d16, hn::InterleaveLower(d64, a, b));
    const auto odd = hn::BitCast(d16, hn::InterleaveUpper(d64, a, b));
    return hn::BitCast(d8, hn::Add(hn::Add(even, odd), round));
  };
  for (int x = 0; x < task.out_width; x += 4) {
    const auto pixels = hn::Or(hn::TableLookupBytesOr0(two(x), first_two),
                               hn::TableLookupBytesOr0(two(x + 2), last_two));
    if (x + 6 <= task.out_width) {
      hn::StoreU(pixels, d8, out + 3 * x);
    } else {
      alignas(16) std::uint8_t rest[16];
      hn::Store(pixels, d8, rest);
      const int left = task.out_width - x < 4 ? task.out_width - x : 4;
      std::memcpy(out + 3 * x, rest, static_cast<std::size_t>(left) * 3);
    }
  }
}

template <int kPairs>
void resize_rows(const ResizeKernelTask& task) {
  for (int y = 0; y < task.out_height; ++y) {
    switch (task.rows) {
      case 1:
        blend_rows<1>(task, y, 1);
        break;
      case 2:
        blend_rows<2>(task, y, 2);
        break;
      case 3:
        blend_rows<3>(task, y, 3);
        break;
      case 4:
        blend_rows<4>(task, y, 4);
        break;
      case 5:
        blend_rows<5>(task, y, 5);
        break;
      default:
        blend_rows<0>(task, y, task.rows);
        break;
    }
    blend_columns<kPairs>(task, task.column_pairs,
                          task.out + static_cast<std::ptrdiff_t>(y) * task.out_width * 3);
  }
}

void resize(const ResizeKernelTask& task) {
  switch (task.column_pairs) {
    case 1:
      return resize_rows<1>(task);
    case 2:
      return resize_rows<2>(task);
    case 3:
      return resize_rows<3>(task);
    default:
      return resize_rows<0>(task);
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
  if (target < 0) {
    HWY_DYNAMIC_DISPATCH(resize)(task);
    return true;
  }
  std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS;
  for (; target > 0 && left != 0; --target)
    left &= left - 1;
  if (left == 0) return false;
  // Only that target's entry of the table; the process's own choice stays as it is.
  hwy::ChosenTarget chosen;
  chosen.Update(left & -left);
  HWY_DISPATCH_TABLE(resize)[chosen.GetIndex()](task);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
