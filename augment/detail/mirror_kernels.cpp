// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/mirror.h>
#include <headrace/engine/base/internal/vector_target.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/detail/mirror_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Pixels [0, count) of the output row, one by one.
template <int kBytes>
void mirror_pixels(const std::uint8_t* end, std::uint8_t* to, std::int64_t count,
                   std::int64_t bytes) {
  const std::int64_t step = kBytes > 0 ? kBytes : bytes;
  for (std::int64_t x = 0; x < count; ++x, to += step) {
    end -= step;
    for (std::int64_t c = 0; c < step; ++c)
      to[c] = end[c];
  }
}

/// 16 bytes are read, of which the last 16 / kBytes whole pixels count; they are written with what
/// is left of the 16 behind them, which the next pixels cover.
template <int kBytes>
void mirror_row(const std::uint8_t* from, std::uint8_t* to, std::int64_t width) {
  const std::uint8_t* end = from + width * kBytes;
  std::int64_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int pixels = 16 / kBytes;
  constexpr int spare = 16 - pixels * kBytes;
  alignas(16) std::uint8_t order[16] = {};
  for (int p = 0; p < pixels; ++p) {
    for (int c = 0; c < kBytes; ++c)
      order[p * kBytes + c] = static_cast<std::uint8_t>(spare + (pixels - 1 - p) * kBytes + c);
  }
  const hn::FixedTag<std::uint8_t, 16> d;
  const auto shuffle = hn::Load(d, order);
  for (; (width - x) * kBytes >= 16 + kBytes; x += pixels, end -= pixels * kBytes)
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, end - 16), shuffle), d, to + x * kBytes);
#endif
  mirror_pixels<kBytes>(end, to + x * kBytes, width - x, kBytes);
}

void mirror(const std::uint8_t* from, std::uint8_t* to, std::int64_t rows, std::int64_t width,
            std::int64_t bytes) {
  for (std::int64_t y = 0; y < rows; ++y, from += width * bytes, to += width * bytes) {
    switch (bytes) {
      case 1:
        mirror_row<1>(from, to, width);
        break;
      case 2:
        mirror_row<2>(from, to, width);
        break;
      case 3:
        mirror_row<3>(from, to, width);
        break;
      case 4:
        mirror_row<4>(from, to, width);
        break;
      default:
        mirror_pixels<0>(from + width * bytes, to, width, bytes);
        break;
    }
  }
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(mirror);
}

bool mirror_rows(const std::uint8_t* from, std::uint8_t* to, std::int64_t rows, std::int64_t width,
                 std::int64_t pixel_bytes, int target) {
  HEADRACE_RUN(mirror, from, to, rows, width, pixel_bytes);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
