#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// Rows of `width` pixels of `pixel_bytes` each, left and right exchanged; rows follow each other
/// on both sides, which must not overlap. By the best vector target, or by the given one; false
/// when there is none of that number.
bool mirror_rows(const std::uint8_t* from, std::uint8_t* to, std::int64_t rows, std::int64_t width,
                 std::int64_t pixel_bytes, int target = -1);

}  // namespace headrace::inline v1::detail
