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

// What targets weigh, each of it undefined where all weigh the same.
struct TargetWeights {
  at::Tensor of_classes;  // `[N, ...]`: of the class of each; of soft labels `[N, K]` by shares
  at::Tensor of_targets;  // `[N, ...]`: all shares together
  at::Tensor of_rows;     // to be broadcast: of the rows, and 0 where ignored
};

TargetWeights weights_of(const at::Tensor& target, const at::Tensor& safe,
                         const ClassificationWeights& weights, at::ScalarType type) {
  if (is_soft(target)) {
    at::Tensor shares = safe.to(type);
    if (weights.of_classes.defined()) shares = shares * weights.of_classes.to(type);
    return {.of_classes = shares,
            .of_targets = shares.sum(1),
            .of_rows = weights.of_samples.defined() ? weights.of_samples.to(type) : at::Tensor()};
  }
  TargetWeights made;
  made.of_rows =
      detail::factors_of_targets(target.to(at::kLong), weights.of_samples, weights.ignore, type);
  if (weights.of_classes.defined())
    made.of_classes =
        at::index_select(weights.of_classes.to(type), 0, safe.flatten()).view_as(safe);
  made.of_targets = made.of_classes;
  return made;
}

// What the mean divides by, before it is summed.
at::Tensor together(const TargetWeights& weights) {
  if (!weights.of_targets.defined()) return weights.of_rows;
  return weights.of_rows.defined() ? weights.of_targets * weights.of_rows : weights.of_targets;
}

// Weights of classes beside `[N, K, ...]`.
at::Tensor along_classes(const at::Tensor& weights, const at::Tensor& log_p) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(log_p.dim()), 1);
  shape[1] = weights.size(0);
  return weights.to(log_p.scalar_type()).view(shape);
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
  const at::Tensor safe = safe_targets(target, weights);
  const at::Tensor factor =
      together(weights_of(target, safe, weights, c10::typeMetaToScalarType(options.dtype())));
  return factor.defined() ? factor.expand(safe.sizes().slice(0, factor.dim())).sum()
                          : at::full({}, static_cast<double>(target.numel()), options);
}

MeanLoss mean_cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                            const CrossEntropyOptions& options) {
  require_options(options);
  require_targets(logits, target);
  const at::Tensor log_p = at::log_softmax(detail::in_full_precision(logits), 1);
  const at::Tensor safe = safe_targets(target, options.weights);
  const TargetWeights weights = weights_of(target, safe, options.weights, log_p.scalar_type());
  const bool soft = is_soft(target);
  const at::Tensor right = soft ? log_p : at::gather(log_p, 1, safe.unsqueeze(1)).squeeze(1);
  at::Tensor losses = detail::times(focal(right, options.gamma), weights.of_classes);
  if (soft) losses = losses.sum(1);
  if (options.label_smoothing > 0.0) {
    at::Tensor of_all = focal(log_p, options.gamma);
    if (options.weights.of_classes.defined())
      of_all = detail::times(of_all, along_classes(options.weights.of_classes, log_p));
    losses = losses * (1.0 - options.label_smoothing) + of_all.mean(1) * options.label_smoothing;
  }
  const at::Tensor total = together(weights);
  if (!total.defined()) return detail::weighted_mean(losses, {});
  return detail::mean_of(detail::times(losses, weights.of_rows).sum(),
                         total.expand_as(losses).sum());
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
