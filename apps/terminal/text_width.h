#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// Columns that UTF-8 text takes on a terminal: wide characters two, combining ones none.
/// Independent of the locale.
std::size_t text_width(std::string_view text);

/// The text without control characters (each becomes '?'; a file's name may hold escapes), cut to
/// at most `columns` columns; a cut shows as "…".
std::string clean_text(std::string_view text, std::size_t columns = static_cast<std::size_t>(-1));

/// A message as it may be printed: printable() line by line, at most 200 lines of 4096 bytes.
std::string clean_message(std::string_view text);

}  // namespace headrace::inline v1::app
