#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// The text as lines of at most `columns` columns (at least 1), broken at blanks; a word that is
/// wider is broken where it must be. Control characters become '?'. Empty text is one empty line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// A line as it is where it has at most `columns` columns, else broken at blanks into lines that
/// have, all but the first behind two blanks. A word that is wider stays whole: a path can be
/// copied.
std::vector<std::string> folded(std::string_view line, std::size_t columns);

}  // namespace headrace::inline v1::app
