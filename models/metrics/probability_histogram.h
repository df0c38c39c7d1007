#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/confusion_matrix.h>
#include <headrace/models/metrics/threshold.h>

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// Counts probabilities of channels (labels, masks) by their bin and by what is true, where they
/// are: decisions at every multiple of 1 / bins come exactly from these counts, however many pixels
/// there were. Nothing waits for the device but where it is said. Not thread-safe.
class HEADRACE_API ProbabilityHistogram {
 public:
  /// Throws `ConfigError` for fewer than one channel or two bins.
  explicit ProbabilityHistogram(std::int64_t channels, std::int64_t bins = 256);

  /// Counts `probabilities` `[N, channels, ...]` in [0, 1], against `target` of that shape and any
  /// type, of which .5 and more is true. `present`, bool that is broadcast to it, if defined, says
  /// which count.
  void add(const at::Tensor& probabilities, const at::Tensor& target,
           const at::Tensor& present = {});

  /// Decisions `probability >= threshold` about a channel, classes 0 and 1; thresholds that are no
  /// multiple of 1 / bins are those of the next above. Waits for the device.
  ConfusionMatrix matrix(std::int64_t channel, double threshold) const;

  /// The best threshold of a channel; see `models::best_threshold`. Waits for the device.
  double best_threshold(std::int64_t channel, ThresholdGoal goal = ThresholdGoal::f1) const;

  /// The counts where they are, for a checkpoint; undefined before the first batch.
  at::Tensor state() const { return counts_; }
  /// Goes on from such counts. Throws `ConfigError` if they are of other channels or bins.
  void restore(const at::Tensor& state);

 private:
  // Of a channel, ascending.
  std::vector<ScoreGroup> groups(std::int64_t channel) const;

  std::int64_t channels_;
  std::int64_t bins_;
  at::Tensor counts_;  // [channels * 2 * bins + 1]: negatives, positives of a channel; not counted
};

}  // namespace headrace::inline v1::models
