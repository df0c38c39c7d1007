#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/models/metrics/probability_histogram.h>
#include <headrace/models/metrics/threshold.h>
#include <headrace/training/metrics/kept_rows.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::inline v1::training {

struct SingleLabelOptions {
  std::int64_t classes = 2;
  bool ordinal = false;  ///< classes are steps of a scale: adds "qwk"
  bool areas = true;     ///< adds "auc", for which the scores of all cases are kept
  /// Of two classes: rows are of class 1 from a threshold on, which a validation chooses by `goal`
  /// over all its scores, and which is kept for the test.
  bool fit_threshold = false;
  models::ThresholdGoal goal = models::ThresholdGoal::balanced_accuracy;
};

/// Figures of rows of one class each, class indices `[N]` or soft labels `[N, K]` of which the
/// largest counts, against scores `[N, classes]`: "accuracy", with more than five classes "top5",
/// "balanced_accuracy" (mean recall of the classes there are), "macro_f1" (of the classes that are
/// there or predicted), "weighted_f1", of ordinal classes "qwk", "auc" (with more than two classes
/// the mean of each against the rest), and "threshold" where one is fitted. What is not defined, as
/// "auc" of one class alone, is not a number. While a network learns: "accuracy" of the values of
/// `Output::main`. Rows that are absent do not count.
class HEADRACE_API SingleLabelMetric final : public Metric {
 public:
  /// A threshold that is to be fitted is that of `fitted`, where it has a "threshold"; a test that
  /// is given none chooses its own, which flatters it. Throws
  /// `ConfigError` for fewer than two classes, and a threshold of more than two.
  explicit SingleLabelMetric(const SingleLabelOptions& options, const TensorMap& fitted = {});

  void add(const Cases& cases) override;
  Figures result() override;
  /// "threshold", after `result()`, where one is fitted.
  TensorMap fitted() const override;
  TensorMap state() const override;
  void restore(const TensorMap& state) override;

  /// Counts by true and predicted class, after `result()` by the threshold. Waits for the device.
  /// Throws `DataError` for targets that are no class.
  std::optional<models::ConfusionMatrix> confusion() const override;

 private:
  // Counts decisions by the threshold that was given, or by the best.
  void decide(const KeptRows::OnHost& rows);
  Figures figures_of_counts() const;
  // The sums so far and those of these rows.
  at::Tensor top5_with(const at::Tensor& scores, const at::Tensor& target,
                       const at::Tensor& present) const;

  SingleLabelOptions options_;
  std::optional<double> given_;      // the threshold, by a validation
  std::optional<double> threshold_;  // that decided
  bool learns_ = false;
  models::ConfusionAccumulator counts_;             // of the largest scores
  std::optional<models::ConfusionMatrix> decided_;  // behind the threshold
  KeptRows kept_;
  at::Tensor top5_;  // [2] int64: right, all
};

/// The class of each row of scores `[N, K]`, int64 `[N]`: with a "threshold" in `fitted` class 1
/// from it on and else class 0, otherwise the largest. For `Recipe::predicted`.
HEADRACE_API at::Tensor decided_classes(const at::Tensor& scores, const TensorMap& fitted);

struct MultiLabelOptions {
  std::int64_t labels = 1;
  bool areas = true;  ///< adds "auc"
  /// Each label is given from a threshold of its own on, which a validation chooses by `goal` over
  /// all its scores, and which is kept for the test; else all from .5 on.
  bool fit_thresholds = false;
  models::ThresholdGoal goal = models::ThresholdGoal::f1;
};

/// Figures of rows of labels that exclude nothing, targets `[N, labels]` of which .5 and more is
/// there, against probabilities `[N, labels]`: "macro_f1" over the labels that are there or given
/// (scikit-learn with a zero division of NaN), "micro_f1" over all decisions, "exact_match" (rows
/// all of whose labels are right) and "auc", the mean over the labels that are there and not
/// always. While a network learns: both F1 of the logits in `Output::main`, at .5. Rows that are
/// absent do not count.
class HEADRACE_API MultiLabelMetric final : public Metric {
 public:
  /// Thresholds that are to be fitted are those of `fitted`, where it has "thresholds"; a test that
  /// is given none chooses its own, which flatters it. Throws
  /// `ConfigError` for no label and for thresholds of other labels.
  explicit MultiLabelMetric(const MultiLabelOptions& options, const TensorMap& fitted = {});

  void add(const Cases& cases) override;
  Figures result() override;
  /// "thresholds" `[labels]` float64, after `result()`, where they are fitted.
  TensorMap fitted() const override;
  TensorMap state() const override;
  void restore(const TensorMap& state) override;

  /// Decisions about each label, classes 0 and 1, after `result()`.
  const std::vector<models::ConfusionMatrix>& confusions() const { return confusions_; }

 private:
  Figures figures_of_rows();

  MultiLabelOptions options_;
  at::Tensor given_;                     // thresholds, by a validation
  at::Tensor thresholds_;                // that decided; undefined: .5
  models::ProbabilityHistogram learnt_;  // in two bins, while a network learns
  KeptRows kept_;
  std::vector<models::ConfusionMatrix> confusions_;
};

/// Which labels each row of probabilities `[N, labels]` is given, bool `[N, labels]`: from its
/// threshold in the "thresholds" of `fitted` on, otherwise from .5 on.
HEADRACE_API at::Tensor decided_labels(const at::Tensor& scores, const TensorMap& fitted);

}  // namespace headrace::inline v1::training
