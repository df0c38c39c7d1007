#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/confusion_matrix.h>

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// Gathers a confusion matrix where the logits are: nothing waits for the device until
/// `matrix()`. Not thread-safe.
class HEADRACE_API ConfusionAccumulator {
 public:
  explicit ConfusionAccumulator(std::int64_t classes);

  /// Counts the rows of `logits` `[N, classes or more]` (the largest value of the first `classes`
  /// wins; what follows belongs to other heads) against `target` `[N]` int64, both on one device.
  /// `present` `[N]` bool, if defined, says which rows count. Targets outside [0, classes) are
  /// found by `matrix()`.
  void add(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present = {});

  /// The counts so far; waits for the device. Throws `DataError` if a target was outside [0,
  /// classes).
  ConfusionMatrix matrix() const;

  /// The sums where they are, for a checkpoint; undefined before the first batch.
  at::Tensor state() const { return counts_; }

  /// Goes on from such sums. Throws `ConfigError` if they are of another number of classes.
  void restore(const at::Tensor& state);

 private:
  std::int64_t classes_;
  at::Tensor counts_;
};

}  // namespace headrace::inline v1::models
