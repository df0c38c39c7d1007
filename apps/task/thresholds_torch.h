#pragma once

#include <headrace/apps/task/predict_settings.h>
#include <headrace/training/example.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// What decides about scores: the threshold that the section `predict` gives, else what a
/// validation has fitted; empty: one half, or the largest score. For labels or masks that do not
/// exclude each other "thresholds" float64 [labels]; for two classes, 0 `labels`, "threshold".
training::TensorMap thresholds_of(const PredictSettings& predict, const training::TensorMap& fitted,
                                  std::int64_t labels);

/// Whether a metric decides by thresholds: it has some, or looks at the validation, which fits
/// them. A test never chooses its own.
bool has_thresholds(const PredictSettings& predict, bool validation,
                    const training::TensorMap& thresholds);

}  // namespace headrace::inline v1::app
