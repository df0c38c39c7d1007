#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

struct BootstrapOptions {
  double share = 0.95;  ///< of the resamples whose mean is not below the bound
  int resamples = 2000;
  std::uint64_t seed = 42;
};

/// A mean, and what it is at least.
struct BootstrapBound {
  double mean = 0.0;
  double lower = 0.0;
};

/// One-sided lower bound of the mean of `values` by the percentile bootstrap over groups: records
/// of one group (an animal, a patient) are not independent of each other, so that as many whole
/// groups as there are are drawn anew, with replacement, and the mean of all their records is
/// taken. The bound is the quantile 1 - share of those means, between two of them linearly.
/// `groups` holds the group of each value. The same on every machine for the same seed; the order
/// of the records makes no difference but for rounding. Throws DataError for different lengths,
/// NaN, and fewer than two groups, of which nothing can be said; ConfigError for a share outside
/// (0, 1) and fewer resamples than 1 / (1 - share).
HEADRACE_API BootstrapBound bootstrap_lower_bound(std::span<const double> values,
                                                  std::span<const std::int64_t> groups,
                                                  const BootstrapOptions& options = {});

}  // namespace headrace::inline v1::models
