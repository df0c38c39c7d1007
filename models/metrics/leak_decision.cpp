#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/leak_decision.h>

#include <cmath>
#include <string>

namespace headrace::inline v1::models {

std::int64_t leak_votes(std::span<const float> probabilities, const LeakLayout& layout,
                        double threshold) {
  std::int64_t votes = 0;
  std::size_t next = 0;
  for (std::int64_t i = 0; i < layout.longs; ++i) {
    double sum = 0.0;
    for (std::int64_t k = 0; k < layout.shorts; ++k)
      sum += double{probabilities[next++]};
    if (sum / static_cast<double>(layout.shorts) >= threshold) ++votes;
  }
  return votes;
}

bool is_leak(std::span<const float> probabilities, const LeakLayout& layout, double threshold) {
  return leak_votes(probabilities, layout, threshold) >= (layout.longs + 1) / 2;
}

double LeakDecisions::f1() const {
  const std::int64_t weighed = 2 * true_positive + false_positive + false_negative;
  return weighed > 0 ? 2.0 * static_cast<double>(true_positive) / static_cast<double>(weighed)
                     : 0.0;
}

double LeakDecisions::accuracy() const {
  const std::int64_t all = true_positive + false_positive + false_negative + true_negative;
  return static_cast<double>(true_positive + true_negative) / static_cast<double>(all);
}

LeakDecisions decide_leaks(std::span<const float> probabilities,
                           std::span<const std::uint8_t> labels, const LeakLayout& layout,
                           double threshold) {
  const auto segments = static_cast<std::size_t>(layout.segments());
  if (segments < 1 || labels.empty() || probabilities.size() != labels.size() * segments)
    throw DataError("[leak] " + std::to_string(labels.size()) + " recordings of " +
                    std::to_string(segments) + " segments need a probability each, got " +
                    std::to_string(probabilities.size()));
  LeakDecisions decisions{.threshold = threshold};
  for (std::size_t file = 0; file < labels.size(); ++file) {
    const bool called =
        is_leak(probabilities.subspan(file * segments, segments), layout, threshold);
    if (labels[file] != 0) {
      ++(called ? decisions.true_positive : decisions.false_negative);
    } else {
      ++(called ? decisions.false_positive : decisions.true_negative);
    }
  }
  return decisions;
}

LeakDecisions best_leak_threshold(std::span<const float> probabilities,
                                  std::span<const std::uint8_t> labels, const LeakLayout& layout) {
  LeakDecisions best;
  double best_f1 = -1.0;
  for (int twentieth = 2; twentieth <= 18; ++twentieth) {
    const LeakDecisions now = decide_leaks(probabilities, labels, layout, twentieth / 20.0);
    const double f1 = now.f1();
    const bool nearer = std::abs(now.threshold - 0.5) < std::abs(best.threshold - 0.5);
    if (f1 < best_f1 || (f1 == best_f1 && !nearer)) continue;
    best = now;
    best_f1 = f1;
  }
  return best;
}

}  // namespace headrace::inline v1::models
