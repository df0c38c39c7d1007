#include <headrace/models/losses/focal_loss.h>

#include <ATen/ops/clamp.h>

namespace headrace::inline v1::models {

at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target,
                      const FocalLossOptions& options) {
  return cross_entropy(logits, target, {.weights = options.weights, .gamma = options.gamma}) *
         options.alpha;
}

at::Tensor clamped_focal_loss(const at::Tensor& logits, const at::Tensor& target,
                              const FocalLossOptions& options) {
  constexpr double margin = 1e-7;
  return focal_loss(at::clamp(detail::in_full_precision(logits), margin, 1.0 - margin), target,
                    options);
}

}  // namespace headrace::inline v1::models
