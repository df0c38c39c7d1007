// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/engine/base/internal/vector_target.h>
#include <headrace/loaders/hdf5/internal/unshuffle.h>

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/loaders/hdf5/internal/unshuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The bytes of elements apart: byte j of element i lies at from[j * stride + i].
struct Apart {
  const std::uint8_t* from;
  std::size_t stride;
  std::size_t count;
};

/// Elements [first, count), byte by byte.
void join_rest(Apart apart, std::size_t first, std::size_t element, std::uint8_t* to) {
  for (std::size_t i = first; i < apart.count; ++i)
    for (std::size_t j = 0; j < element; ++j)
      to[i * element + j] = apart.from[j * apart.stride + i];
}

/// Calls join(i) for vectors of `lanes` elements; the last one may overlap the one before. Returns
/// how many elements that were.
template <class Join>
HWY_INLINE std::size_t for_vectors(std::size_t count, std::size_t lanes, const Join& join) {
  if (count < lanes) return 0;
  for (std::size_t i = 0; i + lanes <= count; i += lanes)
    join(i);
  if (count % lanes != 0) join(count - lanes);
  return count;
}

/// Joins whole vectors of elements; returns how many elements that were.
std::size_t join_vectors([[maybe_unused]] Apart apart, [[maybe_unused]] std::size_t element,
                         [[maybe_unused]] std::uint8_t* to) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d8;
  const std::size_t lanes = hn::Lanes(d8);
  const auto at = [&](std::size_t j, std::size_t i) { return apart.from + j * apart.stride + i; };
  const auto plane = [&](std::size_t j, std::size_t i) { return hn::LoadU(d8, at(j, i)); };
  if (element == 2) {
    return for_vectors(apart.count, lanes, [&](std::size_t i) {
      hn::StoreInterleaved2(plane(0, i), plane(1, i), d8, to + 2 * i);
    });
  }
  if (element == 4) {
    return for_vectors(apart.count, lanes, [&](std::size_t i) {
      hn::StoreInterleaved4(plane(0, i), plane(1, i), plane(2, i), plane(3, i), d8, to + 4 * i);
    });
  }
  if (element == 8) {
    const hn::Half<decltype(d8)> half8;
    const hn::ScalableTag<std::uint16_t> d16;
    const auto pair = [&](std::size_t j, std::size_t i) {
      const auto low = hn::PromoteTo(d16, hn::LoadU(half8, at(j, i)));
      const auto high = hn::PromoteTo(d16, hn::LoadU(half8, at(j + 1, i)));
      return hn::Or(low, hn::ShiftLeft<8>(high));
    };
    return for_vectors(apart.count, hn::Lanes(d16), [&](std::size_t i) {
      hn::StoreInterleaved4(pair(0, i), pair(2, i), pair(4, i), pair(6, i), d16,
                            reinterpret_cast<std::uint16_t*>(to + 8 * i));
    });
  }
#endif
  return 0;
}

void join(const std::uint8_t* from, std::size_t stride, std::size_t count, std::size_t element,
          std::uint8_t* to) {
  // Elements of other sizes go in tiles that stay in the nearest cache.
  constexpr std::size_t tile = 512;
  const Apart apart{from, stride, count};
  const std::size_t done = join_vectors(apart, element, to);
  if (element <= 8) return join_rest(apart, done, element, to);
  for (std::size_t first = 0; first < count; first += tile) {
    const std::size_t last = std::min(count, first + tile);
    for (std::size_t j = 0; j < element; ++j)
      for (std::size_t i = first; i < last; ++i)
        to[i * element + j] = from[j * stride + i];
  }
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(join);

const std::uint8_t* octets(const std::byte* bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}
std::uint8_t* octets(std::byte* bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes);
}

void copy_rest(std::span<const std::byte> from, std::size_t element, std::byte* to) {
  const std::size_t rest = from.size() % element;
  if (rest > 0) std::memcpy(to + from.size() - rest, from.data() + from.size() - rest, rest);
}

/// Bit i of byte b becomes bit b of byte i (Warren, Hacker's Delight, 7-3).
std::uint64_t transposed(std::uint64_t x) noexcept {
  const auto swap = [&x](std::uint64_t mask, int shift) {
    const std::uint64_t changed = (x ^ (x >> shift)) & mask;
    x ^= changed ^ (changed << shift);
  };
  swap(0x00AA00AA00AA00AAU, 7);
  swap(0x0000CCCC0000CCCCU, 14);
  swap(0x00000000F0F0F0F0U, 28);
  return x;
}

}  // namespace

void unshuffle(std::span<const std::byte> from, std::size_t element, std::byte* to) noexcept {
  if (from.empty()) return;
  const std::size_t count = from.size() / element;
  if (element == 1 || count <= 1) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  HWY_DYNAMIC_DISPATCH(join)(octets(from.data()), count, count, element, octets(to));
  copy_rest(from, element, to);
}

void unshuffle(std::span<const std::byte> from, std::size_t element, std::size_t first,
               std::size_t count, std::byte* to) noexcept {
  const std::size_t all = from.size() / element;
  HWY_DYNAMIC_DISPATCH(join)(octets(from.data()) + first, all, count, element, octets(to));
}

bool unshuffle_on(int target, std::span<const std::byte> from, std::size_t element, std::byte* to) {
  const std::ptrdiff_t entry = vector_target(target);
  if (entry < 0) return false;
  HWY_DISPATCH_TABLE(join)
  [entry](octets(from.data()), from.size() / element, from.size() / element, element, octets(to));
  copy_rest(from, element, to);
  return true;
}

void bit_unshuffle(std::span<const std::byte> from, std::size_t element, std::byte* planes,
                   std::byte* to) noexcept {
  const std::size_t count = from.size() / element;
  const std::size_t row = count / 8;
  std::byte* out = element == 1 ? to : planes;
  for (std::size_t j = 0; j < element; ++j) {
    const std::uint8_t* bits = octets(from.data()) + j * count;
    for (std::size_t g = 0; g < row; ++g) {
      std::uint64_t eight = 0;
      for (unsigned b = 0; b < 8; ++b)
        eight |= static_cast<std::uint64_t>(bits[b * row + g]) << 8 * b;
      eight = transposed(eight);
      std::memcpy(out + j * count + 8 * g, &eight, sizeof(eight));
    }
  }
  if (element > 1) unshuffle({planes, from.size()}, element, to);
}

}  // namespace headrace::inline v1::detail
#endif
