#pragma once

#include <headrace/models/metrics/one_vs_one.h>
#include <headrace/training/metric.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace headrace::inline v1::app {

/// Names of what a vote leaves for its figures and reasons, and of what is true of its cases.
inline constexpr const char* pairs_of_vote = "pairs";  ///< double [N, pairs] on the CPU
inline constexpr const char* grade_target = "grade";   ///< int64 [N]

/// "coupling", "soft", ...
const char* name_of(models::VoteScheme scheme);

/// Figures of a vote by one scheme: "accuracy", "balanced_accuracy", "macro_f1", "weighted_f1" and
/// "qwk", of the probabilities that the vote has left of all pairs, with ties by rule.
class SchemeMetric final : public training::Metric {
 public:
  SchemeMetric(models::VoteScheme scheme, models::OneVsOneVote vote, std::int64_t classes)
      : scheme_(scheme), vote_(std::move(vote)), counts_(classes) {}

  void add(const training::Cases& cases) override;
  training::Figures result() override;
  std::optional<models::ConfusionMatrix> confusion() const override { return counts_.matrix(); }

 private:
  models::VoteScheme scheme_;
  models::OneVsOneVote vote_;
  models::ConfusionAccumulator counts_;
};

}  // namespace headrace::inline v1::app
