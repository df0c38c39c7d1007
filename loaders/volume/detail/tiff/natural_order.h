#pragma once

#include <string_view>

namespace headrace::inline v1::detail {

/// Whether a name comes before another as people number files: "slice2" before "slice10". Runs of
/// digits compare as numbers, all else byte by byte, and what is equal so far by its bytes.
bool natural_less(std::string_view a, std::string_view b) noexcept;

}  // namespace headrace::inline v1::detail
