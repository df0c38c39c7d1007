#pragma once

namespace headrace::inline v1::training::detail {

// Their name among what a metric has fitted.
inline constexpr const char* thresholds_key = "thresholds";

// Where none are fitted.
inline constexpr double usual_threshold = 0.5;

}  // namespace headrace::inline v1::training::detail
