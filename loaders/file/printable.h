#pragma once

#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

/// Control characters as \xHH: names come from strangers.
std::string printable(std::string_view text);

}  // namespace headrace::inline v1::detail
