#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// "to do        raise ...", wrapped so that no line is wider than `columns` (at least 40), its
/// other lines below the first's text; with a line end.
std::string labelled(std::string_view label, std::string_view text, std::size_t columns);

}  // namespace headrace::inline v1::app
