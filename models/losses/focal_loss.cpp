#include <headrace/engine/base/error.h>
#include <headrace/models/losses/focal_loss.h>

#include <string>

#include <ATen/ops/clamp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/pow.h>

namespace headrace::inline v1::models {

at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target,
                      const FocalLossOptions& options) {
  if (!(options.gamma >= 0.0))
    throw ConfigError("[focal_loss] gamma must not be negative, got " +
                      std::to_string(options.gamma));
  detail::require_rows("focal_loss", logits, target);
  const at::Tensor counted = detail::counted_targets(target, options.weights.of_samples);
  const at::Tensor log_p =
      detail::of_targets(at::log_softmax(detail::in_full_precision(logits), 1), counted);
  // 1 - p without cancellation; the power's derivative at 0 is infinite below gamma 1, so keep off
  // 0 there.
  at::Tensor miss = -at::expm1(log_p);
  if (options.gamma < 1.0) miss = at::clamp(miss, 1e-12);
  const at::Tensor losses = at::pow(miss, options.gamma) * -log_p * options.alpha;
  return detail::mean_of_targets(losses, counted, options.weights);
}

at::Tensor clamped_focal_loss(const at::Tensor& logits, const at::Tensor& target,
                              const FocalLossOptions& options) {
  constexpr double margin = 1e-7;
  return focal_loss(at::clamp(detail::in_full_precision(logits), margin, 1.0 - margin), target,
                    options);
}

}  // namespace headrace::inline v1::models
