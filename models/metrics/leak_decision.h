#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

/// How a recording is divided: long segments of short ones.
struct LeakLayout {
  std::int64_t longs = 1;   ///< long segments of a recording
  std::int64_t shorts = 1;  ///< short segments of a long one
  std::int64_t segments() const { return longs * shorts; }
};

/// Long segments of a recording whose mean probability of a leak reaches the threshold; the
/// recording holds a leak if these are at least ceil(longs / 2). `probabilities` are those of the
/// recording's short segments, in order.
HEADRACE_API std::int64_t leak_votes(std::span<const float> probabilities, const LeakLayout& layout,
                                     double threshold);
HEADRACE_API bool is_leak(std::span<const float> probabilities, const LeakLayout& layout,
                          double threshold);

/// Decisions about recordings at one threshold.
struct LeakDecisions {
  double threshold = 0.0;
  std::int64_t true_positive = 0;
  std::int64_t false_positive = 0;
  std::int64_t false_negative = 0;
  std::int64_t true_negative = 0;

  /// 0 where no recording is a leak nor called one.
  double f1() const;
  double accuracy() const;
};

/// Decides about every recording: `probabilities` of all their short segments end to end, `labels`
/// 1 for a leak, one a recording. Throws `DataError` when the two do not fit.
HEADRACE_API LeakDecisions decide_leaks(std::span<const float> probabilities,
                                        std::span<const std::uint8_t> labels,
                                        const LeakLayout& layout, double threshold);

/// The decisions at the threshold of {.10, .15 .. .90} with the best F1; of equal ones the nearest
/// to .5, then the lower. Throws as `decide_leaks`.
HEADRACE_API LeakDecisions best_leak_threshold(std::span<const float> probabilities,
                                               std::span<const std::uint8_t> labels,
                                               const LeakLayout& layout);

}  // namespace headrace::inline v1::models
