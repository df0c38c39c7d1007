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
  /// wins; what follows belongs to other heads) against `target` `[N]` of integers, both on one
  /// device; or the pixels of `[N, classes or more, ...]` against `[N, ...]`. `present`, bool of
  /// the target's shape, if defined, says which count. Targets outside [0, classes) are found by
  /// `matrix()`.
  void add(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present = {});

  /// The same of classes that were predicted, integers of the target's shape.
  void add_predicted(const at::Tensor& predicted, const at::Tensor& target,
                     const at::Tensor& present = {});

  /// The counts so far; waits for the device. Throws `DataError` if a target was outside [0,
  /// classes).
  ConfusionMatrix matrix() const;

  /// The sums where they are, for a checkpoint; undefined before the first batch.
  at::Tensor state() const { return counts_; }

  /// Goes on from such sums. Throws `ConfigError` if they are of another number of classes.
  void restore(const at::Tensor& state);

 private:
  // Counts and those of such pixels.
  at::Tensor with(const at::Tensor& counts, const at::Tensor& predicted, const at::Tensor& target,
                  const at::Tensor& present) const;

  std::int64_t classes_;
  at::Tensor counts_;
};

}  // namespace headrace::inline v1::models
