#pragma once

#include <headrace/engine/tensor/dtype.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headrace::test {

/// Writes a finite float as the given dtype, rounded to nearest with ties to even, by the
/// definition of the format. Shares no code with the product.
inline void write_plain(float value, DType dtype, std::byte* to) {
  if (dtype == DType::float32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const bool half = dtype == DType::float16;
  const int fraction_bits = half ? 10 : 7;
  const int least = half ? -14 : -126;
  const int bias = half ? 15 : 127;
  const double size = std::fabs(double{value});
  int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  auto units =
      static_cast<std::int64_t>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
  if (units == std::int64_t{2} << fraction_bits) {
    units >>= 1;
    ++exponent;
  }
  const bool normal = units >> fraction_bits != 0;
  auto bits = static_cast<std::uint16_t>(
      normal ? (std::int64_t{exponent} + bias - 1) * (std::int64_t{1} << fraction_bits) + units
             : units);
  if (exponent > bias)
    bits = static_cast<std::uint16_t>(2 * bias + 1) << fraction_bits;  // infinite
  if (std::signbit(value)) bits |= 0x8000U;
  std::memcpy(to, &bits, sizeof bits);
}

/// The value of such a number.
inline float read_plain(const std::byte* from, DType dtype) {
  if (dtype == DType::float32) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  const bool half = dtype == DType::float16;
  const int fraction_bits = half ? 10 : 7;
  const int biased = (bits & 0x7fffU) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = std::max(biased, 1) - (half ? 15 : 127) - fraction_bits;
  const int units = biased == 0 ? fraction : fraction + (1 << fraction_bits);
  const auto size = static_cast<float>(std::ldexp(units, exponent));
  return (bits & 0x8000U) != 0 ? -size : size;
}

}  // namespace headrace::test
