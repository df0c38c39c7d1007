#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/threshold.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <string>
#include <vector>

namespace headrace::inline v1::models {

namespace {

constexpr double usual = 0.5;

// Decisions so far, from the highest threshold down.
struct Decisions {
  double positives = 0.0;  // all there are
  double negatives = 0.0;
  double true_positive = 0.0;
  double false_positive = 0.0;

  double value(ThresholdGoal goal) const {
    if (goal == ThresholdGoal::f1)
      return 2.0 * true_positive / (true_positive + false_positive + positives);
    return (true_positive / positives + (negatives - false_positive) / negatives) / 2.0;
  }
};

// Between two scores that are neighbours; reached by the upper one alone, also in float.
float between(float lower, float upper) {
  const float middle = std::midpoint(lower, upper);
  return middle > lower ? middle : upper;
}

std::vector<ScoreGroup> groups_of(std::span<const float> scores,
                                  std::span<const std::uint8_t> labels) {
  std::vector<std::size_t> by_score(scores.size());
  std::iota(by_score.begin(), by_score.end(), std::size_t{0});
  std::ranges::sort(by_score, {}, [&](std::size_t i) { return scores[i]; });
  std::vector<ScoreGroup> groups;
  float last = 0.0F;
  for (const std::size_t i : by_score) {
    const float score = scores[i];
    if (groups.empty())
      groups.push_back({.threshold = double{std::min(score, 0.0F)}});
    else if (score != last)
      groups.push_back({.threshold = double{between(last, score)}});
    ++(labels[i] != 0 ? groups.back().positives : groups.back().negatives);
    last = score;
  }
  return groups;
}

}  // namespace

double best_threshold(std::span<const ScoreGroup> groups, ThresholdGoal goal) {
  Decisions decisions;
  for (const ScoreGroup& group : groups) {
    decisions.positives += static_cast<double>(group.positives);
    decisions.negatives += static_cast<double>(group.negatives);
  }
  if (decisions.positives == 0.0 || decisions.negatives == 0.0) return usual;
  double best = usual;
  double best_value = -1.0;
  for (const ScoreGroup& group : std::views::reverse(groups)) {
    decisions.true_positive += static_cast<double>(group.positives);
    decisions.false_positive += static_cast<double>(group.negatives);
    const double value = decisions.value(goal);
    const bool as_near = std::abs(group.threshold - usual) <= std::abs(best - usual);
    if (value < best_value || (value == best_value && !as_near)) continue;
    best = group.threshold;
    best_value = value;
  }
  return best;
}

double best_threshold(std::span<const float> scores, std::span<const std::uint8_t> labels,
                      ThresholdGoal goal) {
  if (scores.size() != labels.size())
    throw DataError("[best_threshold] needs a label for each score, got " +
                    std::to_string(scores.size()) + " scores and " + std::to_string(labels.size()) +
                    " labels");
  if (std::ranges::any_of(labels, [](std::uint8_t label) { return label > 1; }))
    throw DataError("[best_threshold] labels must be 0 or 1");
  if (std::ranges::any_of(scores, [](float score) { return std::isnan(score); })) return usual;
  return best_threshold(groups_of(scores, labels), goal);
}

}  // namespace headrace::inline v1::models
