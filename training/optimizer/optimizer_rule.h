#pragma once

#include <headrace/engine/base/export.h>

#include <variant>

namespace headrace::inline v1::training {

/// AdamW (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", arXiv 1711.05101): a weight
/// shrinks by rate * weight_decay a step, whatever its gradient.
struct AdamWRule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Adam (Kingma, Ba, arXiv 1412.6980): weight_decay * weight is a part of the gradient.
struct AdamRule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Stochastic gradient descent as PyTorch has it, without dampening: weight_decay * weight is a
/// part of the gradient, and the rate multiplies the buffer, not what is added to it.
struct SgdRule {
  double momentum = 0.9;
  bool nesterov = true;
};

using OptimizerRule = std::variant<AdamWRule, AdamRule, SgdRule>;

/// The name that configurations give it: "adamw", "adam", "sgd".
HEADRACE_API const char* name_of(const OptimizerRule& rule);

}  // namespace headrace::inline v1::training
