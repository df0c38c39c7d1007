#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

/// Area under the ROC curve by ranks, ties counted one half. `labels` are 0 or 1. NaN if a class is
/// missing or a score is NaN; throws `DataError` for other labels or different lengths.
HEADRACE_API double area_under_roc(std::span<const double> scores,
                                   std::span<const std::uint8_t> labels);

/// Mean of the areas of all columns that have both labels; NaN if none has. `scores` and `labels`
/// are `[N, columns]`, row by row. With the classes' probabilities and one-hot labels this is the
/// macro average of one class against the rest. Throws as `area_under_roc`. Sorts each column.
HEADRACE_API double macro_area_under_roc(std::span<const float> scores,
                                         std::span<const std::uint8_t> labels,
                                         std::int64_t columns);

}  // namespace headrace::inline v1::models
