#pragma once

#include <string_view>

namespace headrace::inline v1::detail {

/// Millimetres of a unit of length by its name or sign, as files of any format write it
/// ("micrometer", "um", "\u00b5m"); 0 for what is none.
double millimetres_of(std::string_view unit) noexcept;

}  // namespace headrace::inline v1::detail
