#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

/// No path is longer; names are quoted at less.
inline constexpr std::size_t longest_printed = 4096;

/// A stranger's text as messages, logs and tables may show it, in one line of UTF-8: each byte of a
/// control character (is_control()) and of what is no UTF-8 becomes \xHH, and of a text of more
/// than `most` bytes comes what fits into them, and "...".
HEADRACE_API std::string printable(std::string_view text, std::size_t most = longest_printed);

/// A name likewise, whole, so that it can be had back: a backslash that begins what looks like such
/// a byte becomes one, too.
HEADRACE_API std::string printable_name(std::string_view name);

/// The name that printable_name() was given.
HEADRACE_API std::string name_of_printable(std::string_view printed);

}  // namespace headrace::inline v1
