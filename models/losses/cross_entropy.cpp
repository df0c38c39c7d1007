#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/targets.h>

#include <optional>
#include <string>
#include <vector>

#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::models {

namespace {

bool is_soft(const at::Tensor& target) {
  return target.is_floating_point();
}

void require_targets(const at::Tensor& logits, const at::Tensor& target) {
  bool fits = false;
  if (is_soft(target)) {
    fits = logits.dim() == 2 && target.sizes() == logits.sizes();
  } else if (logits.dim() >= 2) {
    std::vector<std::int64_t> indices = logits.sizes().vec();
    indices.erase(indices.begin() + 1);
    fits = target.sizes() == indices;
  }
  if (fits) return;
  throw ConfigError(
      "[cross_entropy] targets must be class indices, [N, ...] integers beside logits [N, classes, "
      "...], or shares of classes, [N, classes] floats, got " +
      detail::shape_text(target) + " " + c10::toString(target.scalar_type()) + " beside " +
      detail::shape_text(logits));
}

void require_options(const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0.0 && options.label_smoothing < 1.0))
    throw ConfigError("[cross_entropy] label_smoothing must lie in [0, 1), got " +
                      std::to_string(options.label_smoothing));
  if (!(options.gamma >= 0.0))
    throw ConfigError("[cross_entropy] gamma must not be negative, got " +
                      std::to_string(options.gamma));
}

// Targets with class 0 (soft: zeros) where one does not count: what is there may be no class at
// all, as the fill of a padded batch, and an index outside ends a device's program.
at::Tensor safe_targets(const at::Tensor& target, const ClassificationWeights& weights) {
  const at::Tensor whole = is_soft(target) ? target : target.to(at::kLong);
  const at::Tensor counts = detail::counted_targets(
      whole, weights.of_samples, is_soft(target) ? std::nullopt : weights.ignore);
  return counts.defined() ? at::where(counts, whole, at::zeros_like(whole)) : whole;
}

// Of class indices, to be broadcast; undefined where all weigh the same.
at::Tensor factors(const at::Tensor& target, const at::Tensor& safe,
                   const ClassificationWeights& weights, at::ScalarType type) {
  const at::Tensor factor =
      detail::factors_of_targets(target.to(at::kLong), weights.of_samples, weights.ignore, type);
  if (!weights.of_classes.defined()) return factor;
  const at::Tensor of_classes =
      at::index_select(weights.of_classes.to(type), 0, safe.flatten()).view_as(safe);
  return factor.defined() ? of_classes * factor : of_classes;
}

// Of soft labels.
struct Shares {
  at::Tensor of_classes;  // `[N, K]`: what each class of a row weighs
  at::Tensor of_rows;     // `[N]`: their sum
  at::Tensor factors;     // `[N]`: with the rows' own
};

Shares shares(const at::Tensor& target, const ClassificationWeights& weights, at::ScalarType type) {
  at::Tensor of_classes = target.to(type);
  if (weights.of_classes.defined())
    of_classes = of_classes * weights.of_classes.to(type).unsqueeze(0);
  const at::Tensor sum = of_classes.sum(1);
  return {.of_classes = of_classes,
          .of_rows = sum,
          .factors = weights.of_samples.defined() ? sum * weights.of_samples.to(type) : sum};
}

MeanLoss mean_of_shares(const at::Tensor& losses, const Shares& shares) {
  // A share of zero may stand beside an infinite loss, and 0 * inf is not zero.
  const at::Tensor each =
      at::where(shares.of_classes != 0, losses * shares.of_classes, at::zeros_like(losses)).sum(1);
  const at::Tensor& sum = shares.of_rows;
  const at::Tensor own =
      at::where(sum != 0, each / at::where(sum != 0, sum, sum + 1), at::zeros_like(each));
  return detail::weighted_mean(own, shares.factors);
}

at::Tensor focal(const at::Tensor& log_p, double gamma) {
  if (gamma == 0.0) return -log_p;
  // 1 - p without cancellation; the power's derivative at 0 is infinite below gamma 1, so keep off
  // 0 there.
  at::Tensor miss = -at::expm1(log_p);
  if (gamma < 1.0) miss = at::clamp_min(miss, 1e-12);
  return at::pow(miss, gamma) * -log_p;
}

}  // namespace

at::Tensor sum_of_weights(const at::Tensor& target, const ClassificationWeights& weights,
                          const at::TensorOptions& options) {
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  const at::Tensor safe = safe_targets(target, weights);
  const at::Tensor factor =
      is_soft(target) ? shares(safe, weights, type).factors : factors(target, safe, weights, type);
  return factor.defined() ? factor.expand(safe.sizes().slice(0, factor.dim())).sum()
                          : at::full({}, static_cast<double>(target.numel()), options);
}

MeanLoss mean_cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                            const CrossEntropyOptions& options) {
  require_options(options);
  require_targets(logits, target);
  const at::Tensor log_p = at::log_softmax(detail::in_full_precision(logits), 1);
  const at::Tensor safe = safe_targets(target, options.weights);
  const bool soft = is_soft(target);
  at::Tensor losses = focal(soft ? log_p : at::gather(log_p, 1, safe.unsqueeze(1)), options.gamma);
  if (options.label_smoothing > 0.0) {
    const at::Tensor of_all = focal(log_p, options.gamma).mean(1, /*keepdim=*/true);
    losses = losses * (1.0 - options.label_smoothing) + of_all * options.label_smoothing;
  }
  const at::ScalarType type = log_p.scalar_type();
  if (soft) return mean_of_shares(losses, shares(safe, options.weights, type));
  return detail::weighted_mean(losses.squeeze(1), factors(target, safe, options.weights, type));
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                         const CrossEntropyOptions& options) {
  return mean_cross_entropy(logits, target, options).value;
}

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
