#pragma once

#include <headrace/engine/base/printable.h>

#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

using v1::printable;

/// A name as messages show it: printable, in quotes, at most 200 bytes of it.
std::string quoted(std::string_view text);

}  // namespace headrace::inline v1::detail
