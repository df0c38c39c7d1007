#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/probability_histogram.h>
#include <headrace/models/metrics/threshold.h>
#include <headrace/training/kept_rows.h>
#include <headrace/training/metric.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::training {

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
