#pragma once

#include <limits>

namespace headrace::inline v1::models::detail {

/// What the saliency measures add to divisors, numpy's `spacing(1)`.
inline constexpr double divisor_eps = std::numeric_limits<double>::epsilon();

}  // namespace headrace::inline v1::models::detail
