#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// The text as lines of at most `columns` columns (at least 1), broken at blanks; a word that is
/// wider is broken where it must be. Control characters become '?'. Empty text is one empty line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace headrace::inline v1::app
