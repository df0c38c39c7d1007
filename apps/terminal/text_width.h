#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Columns that UTF-8 text takes on a terminal: wide characters two, combining ones none.
/// Independent of the locale.
std::size_t text_width(std::string_view text);

/// The width of the widest line of a table, in columns.
std::size_t width_of(std::string_view table);

/// The text without control characters (each becomes '?'; a file's name may hold escapes), cut to
/// at most `columns` columns; a cut shows as "…".
std::string clean_text(std::string_view text, std::size_t columns = static_cast<std::size_t>(-1));

/// A message as it may be printed: printable() line by line, at most 200 lines of 4096 bytes.
std::string clean_message(std::string_view text);

/// The text as lines of at most `columns` columns (at least 1), broken at blanks; a word that is
/// wider is broken where it must be. Control characters become '?'. Empty text is one empty line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// A line as it is where it has at most `columns` columns, else broken at blanks into lines that
/// have, all but the first behind two blanks. A word that is wider stays whole: a path can be
/// copied.
std::vector<std::string> folded(std::string_view line, std::size_t columns);

}  // namespace headrace::inline v1::app
