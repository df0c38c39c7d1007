#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// What one vector kernel is given: everything but the arithmetic is decided.
struct ResizeKernelTask {
  const std::uint8_t* data;  ///< input row 0, pixel `first_column`
  std::size_t stride;
  std::size_t row_bytes;             ///< of an input row that are used
  int rows;                          ///< taps of the vertical axis
  const std::int32_t* row_first;     ///< per output row, relative to `data`
  const std::uint16_t* row_weights;  ///< per output row and tap, 16 fraction bits
  int column_pairs;                  ///< half the taps of the horizontal axis
  const std::int32_t*
      column_first;  ///< per output column, relative to `data`; padded to groups of four
  const std::uint16_t*
      column_weights;  ///< per output column and pair: 4 x one weight, 4 x the next
  int out_width;
  int out_height;
  std::uint16_t* line;  ///< scratch for one blended row, 16 pixels longer than the row
  std::uint8_t* out;
};

/// Taps a kernel can take; wider filters lose too much in 16 bits.
inline constexpr int most_kernel_taps = 48;

/// Runs on the best target; `target` >= 0 asks for one of the compiled ones and is false when there
/// is none of that number.
bool run_resize_kernel(const ResizeKernelTask& task, int target);

}  // namespace headrace::inline v1::detail
