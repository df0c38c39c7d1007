#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

/// The temperature T, in [1/16, 16], for which sigmoid(z / T) of these logits has the least binary
/// cross entropy against labels 0 and 1 (Guo et al., arXiv 1706.04599): above 1 where they are too
/// sure. Of n labels 1 each counts as (n + 1) / (n + 2), of n labels 0 as 1 / (n + 2) (Platt,
/// 1999), so that few rows that are all right make none certain. 1 where both classes are not there
/// or all logits are 0. Throws `DataError` for other counts of logits and labels and for a logit
/// that is no number.
HEADRACE_API double fit_temperature(std::span<const double> logits,
                                    std::span<const std::uint8_t> labels);

/// sigmoid(z / T) where p = sigmoid(z); p is held 1e-7 from 0 and 1.
HEADRACE_API double tempered(double p, double temperature);

/// log(p / (1 - p)), p held likewise.
HEADRACE_API double logit_of(double p);

}  // namespace headrace::inline v1::models
