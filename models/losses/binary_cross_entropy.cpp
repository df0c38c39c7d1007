#include <headrace/engine/base/error.h>
#include <headrace/models/losses/binary_cross_entropy.h>
#include <headrace/models/losses/targets.h>

#include <string>

#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::models {

namespace {

void require_options(const BinaryCrossEntropyOptions& options, const at::Tensor& logits) {
  if (!(options.gamma >= 0.0))
    throw ConfigError("[binary_cross_entropy] gamma must not be negative, got " +
                      std::to_string(options.gamma));
  const at::Tensor& weights = options.positive_weights;
  if (weights.defined() && (weights.dim() != 1 || weights.size(0) != logits.size(1)))
    throw ConfigError("[binary_cross_entropy] positive weights must be one a channel, [" +
                      std::to_string(logits.size(1)) + "], got " + detail::shape_text(weights));
}

// `[K]` beside logits `[N, K, ...]`.
at::Tensor beside_channels(const at::Tensor& weights, const at::Tensor& logits) {
  return detail::beside_axes(weights.to(logits.scalar_type()), logits.dim() - 1);
}

// How far probabilities are from targets, to the power gamma. Both terms are exact near 0.
at::Tensor miss(const at::Tensor& logits, const at::Tensor& target, double gamma) {
  at::Tensor distance = at::sigmoid(logits) * (1.0 - target) + at::sigmoid(-logits) * target;
  if (gamma < 1.0) distance = at::clamp_min(distance, 1e-12);  // at 0 the derivative is infinite
  return at::pow(distance, gamma);
}

}  // namespace

MeanLoss mean_binary_cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                                   const BinaryCrossEntropyOptions& options) {
  const at::Tensor full = detail::in_full_precision(logits);
  const at::ScalarType type = full.scalar_type();
  const at::Tensor given = detail::channel_targets("binary_cross_entropy", logits, target).to(type);
  require_options(options, logits);
  const at::Tensor counts = detail::counted_targets(given, options.of_samples, options.ignore);
  const at::Tensor truth = counts.defined() ? at::where(counts, given, 0.0) : given;
  const at::Tensor positive = options.positive_weights.defined()
                                  ? beside_channels(options.positive_weights, full)
                                  : at::Tensor();
  at::Tensor losses =
      at::binary_cross_entropy_with_logits(full, truth, {}, positive, at::Reduction::None);
  if (options.gamma > 0.0) losses = losses * miss(full, truth, options.gamma);
  return detail::weighted_mean(
      losses, detail::factors_of_targets(given, options.of_samples, options.ignore, type));
}

}  // namespace headrace::inline v1::models
