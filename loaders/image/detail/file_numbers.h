#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace headrace::inline v1::detail {

/// Unsigned integers and names in the bytes of a file, in either byte order; what lies outside of
/// them is zero.
struct FileNumbers {
  std::span<const std::byte> file;
  bool big_endian = false;

  std::uint32_t at(std::size_t offset, std::size_t count) const noexcept {
    if (offset > file.size() || file.size() - offset < count) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = big_endian ? offset + i : offset + count - 1 - i;
      value = value << 8 | std::to_integer<std::uint32_t>(file[place]);
    }
    return value;
  }
  bool has(std::size_t offset, std::string_view text) const noexcept {
    return file.size() >= offset + text.size() &&
           std::memcmp(file.data() + offset, text.data(), text.size()) == 0;
  }
};

}  // namespace headrace::inline v1::detail
