#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct LeakLossOptions {
  /// One factor per class `[K]` of the cross entropy, on the output's device, or undefined.
  /// Imbalance is corrected here alone: a weight in the auxiliary term on top of it collapses the
  /// logits to a constant.
  at::Tensor class_weights = {};
  double auxiliary = 0.3;   ///< factor of the auxiliary term
  std::int64_t leak = 1;    ///< class that the auxiliary head tells from all others
  at::Tensor present = {};  ///< `[N]` bool: rows that count; undefined when all do
};

/// The two terms of the loss, scalars in float from half precision.
struct LeakLossTerms {
  at::Tensor classes = {};  ///< class-weighted mean cross entropy of the first K columns
  at::Tensor weight = {};   ///< what that mean was divided by
  /// Mean binary cross entropy of the last column against `target == leak`.
  at::Tensor auxiliary = {};
};

/// The terms of `output` `[N, K + 1]` and `target` `[N]` int64. Throws `ConfigError` for an output
/// of fewer than three columns.
HEADRACE_API LeakLossTerms leak_loss_terms(const at::Tensor& output, const at::Tensor& target,
                                           const LeakLossOptions& options = {});

/// `classes` plus `options.auxiliary` times `auxiliary`; see `leak_loss_terms`.
HEADRACE_API at::Tensor leak_loss(const at::Tensor& output, const at::Tensor& target,
                                  const LeakLossOptions& options = {});

/// Inverse frequencies of the classes with mean one, the leak's multiplied by `boost` before.
/// Classes without samples get the weight of one sample. Throws `ConfigError` without a sample.
HEADRACE_API std::vector<float> leak_class_weights(std::span<const std::int64_t> counts,
                                                   std::int64_t leak, double boost = 1.0);

}  // namespace headrace::inline v1::models
