// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/loaders/hdf5/detail/unshuffle.h>

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/loaders/hdf5/detail/unshuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Elements [first, count), byte by byte.
void join_rest(const std::uint8_t* from, std::size_t first, std::size_t count, std::size_t element,
               std::uint8_t* to) {
  for (std::size_t i = first; i < count; ++i)
    for (std::size_t j = 0; j < element; ++j)
      to[i * element + j] = from[j * count + i];
}

/// Joins whole vectors of elements; returns how many that were.
std::size_t join_vectors([[maybe_unused]] const std::uint8_t* from,
                         [[maybe_unused]] std::size_t count, [[maybe_unused]] std::size_t element,
                         [[maybe_unused]] std::uint8_t* to) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d8;
  const std::size_t lanes = hn::Lanes(d8);
  const auto plane = [&](std::size_t j) { return hn::LoadU(d8, from + j * count + i); };
  if (element == 2) {
    for (; i + lanes <= count; i += lanes)
      hn::StoreInterleaved2(plane(0), plane(1), d8, to + 2 * i);
  } else if (element == 4) {
    for (; i + lanes <= count; i += lanes)
      hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), d8, to + 4 * i);
  } else if (element == 8) {
    const hn::Half<decltype(d8)> half8;
    const hn::ScalableTag<std::uint16_t> d16;
    const std::size_t step = hn::Lanes(d16);
    const auto pair = [&](std::size_t j) {
      const auto low = hn::PromoteTo(d16, hn::LoadU(half8, from + j * count + i));
      const auto high = hn::PromoteTo(d16, hn::LoadU(half8, from + (j + 1) * count + i));
      return hn::Or(low, hn::ShiftLeft<8>(high));
    };
    for (; i + step <= count; i += step) {
      hn::StoreInterleaved4(pair(0), pair(2), pair(4), pair(6), d16,
                            reinterpret_cast<std::uint16_t*>(to + 8 * i));
    }
  }
#endif
  return i;
}

void join(const std::uint8_t* from, std::size_t count, std::size_t element, std::uint8_t* to) {
  // Elements of other sizes go in tiles that stay in the nearest cache.
  constexpr std::size_t tile = 512;
  const std::size_t done = join_vectors(from, count, element, to);
  if (element <= 8) return join_rest(from, done, count, element, to);
  for (std::size_t first = 0; first < count; first += tile) {
    const std::size_t last = std::min(count, first + tile);
    for (std::size_t j = 0; j < element; ++j)
      for (std::size_t i = first; i < last; ++i)
        to[i * element + j] = from[j * count + i];
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
  HWY_DYNAMIC_DISPATCH(join)(octets(from.data()), count, element, octets(to));
  copy_rest(from, element, to);
}

bool unshuffle_on(int target, std::span<const std::byte> from, std::size_t element, std::byte* to) {
  std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS;
  for (; target > 0 && left != 0; --target)
    left &= left - 1;
  if (left == 0) return false;
  // Only that target's entry of the table; the process's own choice stays as it is.
  hwy::ChosenTarget chosen;
  chosen.Update(left & -left);
  HWY_DISPATCH_TABLE(join)
  [chosen.GetIndex()](octets(from.data()), from.size() / element, element, octets(to));
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
