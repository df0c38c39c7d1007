#pragma once

#include <headrace/engine/base/export.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct ExpertBalanceOptions {
  double factor = 0.01;  ///< alpha: the loss of a gate that spreads evenly
  /// One factor per row `[N]`, or undefined: rows of weight zero, such as absent ones, give neither
  /// value nor gradient.
  at::Tensor of_samples = {};
};

/// Balance loss of a mixture of experts, `factor * E * sum_e f_e * P_e`: f the share of the
/// assignments that an expert got, which has no gradient, P the mean probability that the gate
/// gives it. `logits` are the gate's, `[N, E]`, `chosen` int64 `[N, k]` are the experts of each
/// row. A scalar, computed in float from half precision; `factor` where either share is even, above
/// it where the gate prefers the experts that it chooses; zero if all weights are zero. Throws
/// `ConfigError` for other shapes. Fedus et al., "Switch Transformers", 2021; for k above 1 as in
/// Lepikhin et al., "GShard", 2020.
HEADRACE_API at::Tensor expert_balance_loss(const at::Tensor& logits, const at::Tensor& chosen,
                                            const ExpertBalanceOptions& options = {});

}  // namespace headrace::inline v1::models
