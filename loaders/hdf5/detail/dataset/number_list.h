#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// "[3, 0]"
inline std::string number_list(std::span<const std::uint64_t> numbers) {
  std::string text = "[";
  for (const std::uint64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

}  // namespace headrace::inline v1::detail
