#pragma once

#include <headrace/models/metrics/one_vs_one.h>
#include <headrace/training/metrics/kept_rows.h>
#include <headrace/training/metrics/label_metrics.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace headrace::inline v1::app {

/// What the validation of a pair has chosen, in a checkpoint's words: scalars, double.
inline constexpr const char* fitted_temperature = "temperature";
inline constexpr const char* fitted_accuracy = "accuracy";

/// Figures of a network of one output that tells two classes apart: those of a SingleLabelMetric,
/// and of a validation the temperature that suits its scores best. Takes the target `label`, float
/// [N, 1]: 1 for the second class of the pair, 0 for the first; rows that are of neither are
/// absent. Scores that are no numbers fit no temperature; the figure is then none, too.
class PairMetric final : public training::Metric {
 public:
  /// `fits`: it is of a validation, and says what it has chosen.
  explicit PairMetric(bool fits) : fits_(fits), figures_({.classes = 2}) {}

  void add(const training::Cases& cases) override;
  training::Figures result() override;
  training::TensorMap fitted() const override { return fitted_; }
  std::optional<models::ConfusionMatrix> confusion() const override { return figures_.confusion(); }
  training::TensorMap state() const override { return figures_.state(); }
  void restore(const training::TensorMap& state) override { figures_.restore(state); }

 private:
  bool fits_;
  training::SingleLabelMetric figures_;
  training::KeptRows rows_;
  training::TensorMap fitted_;
};

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
