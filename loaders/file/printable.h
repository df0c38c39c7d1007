#pragma once

#include <headrace/engine/base/printable.h>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

using v1::printable;

/// A name as messages show it: printable, in quotes, at most 200 bytes of it.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t most = 200;
  return "\"" + printable(text, most) + "\"";
}

/// A number in as few digits as tell it from every other.
template <std::floating_point T>
std::string in_digits(T value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace headrace::inline v1::detail
