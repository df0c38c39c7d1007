#pragma once

#include <headrace/engine/tensor/dtype.h>

#include <bit>
#include <cstdint>

namespace headrace::inline v1 {

/// The value of an element of any float field.
inline float to_float(float value) noexcept {
  return value;
}

inline float to_float(bfloat16_t value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

inline float to_float(float16_t value) noexcept {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // infinite or no number
    return std::bit_cast<float>(sign | 0x7f800000U | magnitude << 13);
  }
  // The exponent is moved by a product, which is exact for subnormal values too.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

/// The same back, rounded to nearest with ties to even.
inline void from_float(float value, float& to) noexcept {
  to = value;
}

inline void from_float(float value, bfloat16_t& to) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_number = (bits & 0x7fffffffU) <= 0x7f800000U;
  to.bits = is_number ? static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)
                      : static_cast<std::uint16_t>(bits >> 16 | 0x40U);
}

inline void from_float(float value, float16_t& to) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  if (magnitude < 0x38800000U) {  // below the least normal half: the adder rounds
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  } else if (magnitude < 0x47800000U) {
    half = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  }
  to.bits = static_cast<std::uint16_t>(sign | half);
}

}  // namespace headrace::inline v1
