#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// What one vector kernel is given: everything but the arithmetic is decided. Weights have 16
/// fraction bits and stand in both halves of their 32 bits, so that one load spreads them over a
/// vector.
struct ResizeKernelTask {
  const std::uint8_t* data;  ///< input row 0, pixel `column`
  std::size_t stride;
  int columns;                       ///< of an input row that are used
  int row_taps;                      ///< of the vertical axis
  const std::int32_t* row_first;     ///< per output row, relative to `data`
  const std::uint32_t* row_weights;  ///< per output row and tap
  int column_taps;                   ///< of the horizontal axis
  /// Per output column, relative to `data`; padded to groups of four.
  const std::int32_t* column_first;
  const std::uint32_t* column_weights;  ///< per output column and tap, padded likewise
  int out_width;
  int out_height;
  std::uint16_t* line;  ///< scratch, 64-byte aligned: line_values for each of `columns`
  std::uint8_t* out;
};

/// Taps a kernel can take; wider filters lose too much in 16 bits.
inline constexpr int most_kernel_taps = 48;

/// Scratch values that a column of the input needs.
inline constexpr std::size_t line_values = 16;
/// Columns more that the scratch must have.
inline constexpr std::size_t line_slack = 16;

/// Runs on the best target; `target` >= 0 asks for one of the compiled ones and is false when there
/// is none of that number.
bool run_resize_kernel(const ResizeKernelTask& task, int target);

}  // namespace headrace::inline v1::detail
