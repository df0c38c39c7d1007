#pragma once

#include <cstddef>

namespace headrace::inline v1::detail {

/// Turns `count` elements of 1, 2, 4 or 8 bytes from one byte order to the other, in place.
void reverse_bytes(void* data, std::size_t count, std::size_t element_bytes) noexcept;

}  // namespace headrace::inline v1::detail
