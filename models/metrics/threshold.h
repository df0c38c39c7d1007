#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

/// What a threshold is chosen by; the F1 of pixels is their Dice.
enum class ThresholdGoal : unsigned char { f1, balanced_accuracy };

/// Scores from one threshold up to the next, by their labels.
struct ScoreGroup {
  double threshold = 0.0;  ///< of a decision `score >= threshold`
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
};

/// The threshold of `groups`, which ascend, at which decisions are best; of equally good ones the
/// nearest to .5, then the lower. .5 where a label is missing.
HEADRACE_API double best_threshold(std::span<const ScoreGroup> groups,
                                   ThresholdGoal goal = ThresholdGoal::f1);

/// The best of all thresholds over `scores` with `labels` of 0 or 1: those half way between
/// neighbours, and the one that all scores reach. It is a float, so that decisions in float and in
/// double are the same. .5 where a label is missing or a score is NaN. Throws `DataError` for other
/// labels or different lengths.
HEADRACE_API double best_threshold(std::span<const float> scores,
                                   std::span<const std::uint8_t> labels,
                                   ThresholdGoal goal = ThresholdGoal::f1);

}  // namespace headrace::inline v1::models
