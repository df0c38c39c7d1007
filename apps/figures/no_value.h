#pragma once

#include <limits>

namespace headrace::inline v1::app {

/// Stands for a number that a run did not write.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace headrace::inline v1::app
