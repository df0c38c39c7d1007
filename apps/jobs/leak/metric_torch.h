#pragma once

#include <headrace/apps/jobs/leak/file.h>
#include <headrace/models/metrics/leak_decision.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// The threshold that a validation has fitted, if any.
std::optional<double> leak_threshold(const training::TensorMap& fitted);

/// How well probabilities of a leak tell leaks apart, over all segments of a file, in their order:
/// "f1" and "recording_accuracy" of decisions about recordings at a threshold, with their counts;
/// areas under the ROC curve over segments and over recordings (the mean of their segments); and
/// "accuracy" over segments. Where a pass ended early, of the recordings that were heard whole; of
/// none they are not numbers.
class LeakMetric final : public training::Metric {
 public:
  /// With a fitted "threshold" decisions are at that one, else at the best.
  LeakMetric(LeakFile file, const training::TensorMap& fitted);

  void add(const training::Cases& cases) override;
  training::Figures result() override;
  /// "threshold", after result().
  training::TensorMap fitted() const override;

 private:
  LeakFile file_;
  std::optional<double> given_;
  double threshold_ = 0.0;
  std::vector<at::Tensor> leaks_;  // of each batch, where it was
  training::ClassificationMetric segments_;
};

}  // namespace headrace::inline v1::app
