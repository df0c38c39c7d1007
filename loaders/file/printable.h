#pragma once

#include <headrace/engine/base/printable.h>

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

}  // namespace headrace::inline v1::detail
