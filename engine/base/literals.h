#pragma once

#include <cstddef>

namespace headrace::inline v1 {

/// `2_GiB`: sizes in bytes.
inline namespace literals {
constexpr std::size_t operator""_KiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 30;
}
}  // namespace literals

}  // namespace headrace::inline v1
