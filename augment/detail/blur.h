#pragma once

#include <headrace/augment/detail/picture.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// A separable filter of odd lengths whose weights sum to 65535 (16 fraction bits).
struct BlurTask {
  Picture picture;
  int row_taps = 1;  ///< along the height; less than twice the picture's height
  const std::uint16_t* row_weights = nullptr;
  int column_taps = 1;  ///< along the width; less than twice the picture's width
  const std::uint16_t* column_weights = nullptr;
  std::uint8_t* out = nullptr;  ///< other memory of the picture's size
};

/// Values of the line that a thread needs to filter such a picture.
std::size_t blur_line_values(std::int64_t width, std::int64_t channels, int column_taps);

/// Filters, the border reflected, in memory of the thread. On the best vector target, or on the
/// given one; false when there is none of that number.
bool blur(const BlurTask& task, int target = -1);

}  // namespace headrace::inline v1::detail
