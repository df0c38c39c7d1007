#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace headrace::inline v1 {

/// Where the MCUs of one row of a part of a baseline JPEG stand in the entropy-coded data of the
/// whole: bits that need not begin or end with a byte.
struct JpegRow {
  using Predictors = std::array<int, 4>;

  std::span<const std::uint8_t> bytes;
  int first_bit = 0;    ///< of the first byte; 0 is the most significant
  int unused_bits = 0;  ///< of the last byte, at its end
  Predictors before{};  ///< DC values that the first differences belong to
  Predictors after{};   ///< and those of the last blocks
};

}  // namespace headrace::inline v1
