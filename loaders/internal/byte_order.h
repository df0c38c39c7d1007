#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

namespace headrace::inline v1::detail {

/// Turns `count` elements of 1, 2, 4 or 8 bytes from one byte order to the other, in place.
void reverse_bytes(void* data, std::size_t count, std::size_t element_bytes) noexcept;

/// Writes and reads a value of a format whose numbers are little-endian.
template <class T>
void put(std::byte* to, std::size_t at, const T& value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(to + at, &value, sizeof value);
}

template <class T>
T get(const std::byte* from, std::size_t at) {
  T value;
  std::memcpy(&value, from + at, sizeof value);
  return value;
}

}  // namespace headrace::inline v1::detail
