#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/cross_entropy.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct FocalLossOptions {
  /// Factor of the whole loss.
  double alpha = 1.0;
  /// How strongly rows that are already right are discounted; 0 gives cross entropy.
  double gamma = 2.0;
  ClassificationWeights weights = {};
};

/// Mean focal loss `alpha * (1 - p)^gamma * -log p`, p the probability of the right class by
/// log-softmax (of soft labels that of each class by its share): `cross_entropy` with a gamma,
/// which says what shapes there are. A scalar. The gradient stays useful for logits that are wrong
/// and large. Throws `ConfigError` for a negative gamma. Lin et al., "Focal Loss for Dense Object
/// Detection", 2017.
HEADRACE_API at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target,
                                   const FocalLossOptions& options = {});

/// A known defect, kept to show what it costs: the focal loss behind logits that were clamped to
/// [1e-7, 1 - 1e-7] as if they were probabilities. No class of five can get a probability above e /
/// (e + 4) = .4046, and a logit outside the interval has no gradient, so a network trained with it
/// learns next to nothing. Never use it to train.
HEADRACE_API at::Tensor clamped_focal_loss(const at::Tensor& logits, const at::Tensor& target,
                                           const FocalLossOptions& options = {});

}  // namespace headrace::inline v1::models
