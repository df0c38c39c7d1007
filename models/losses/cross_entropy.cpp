#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>

#include <string>

#include <ATen/ops/clamp_min.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::models {

namespace detail {

at::Tensor in_full_precision(const at::Tensor& logits) {
  const at::ScalarType type = logits.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? logits.to(at::kFloat) : logits;
}

at::Tensor counted_targets(const at::Tensor& target, const at::Tensor& of_samples) {
  if (!of_samples.defined()) return target;
  const at::Tensor counts = of_samples != 0;
  return at::where(target.dim() == 2 ? counts.unsqueeze(1) : counts, target,
                   at::zeros_like(target));
}

at::Tensor of_targets(const at::Tensor& rows, const at::Tensor& target) {
  return target.dim() == 2 ? rows : at::gather(rows, 1, target.unsqueeze(1));
}

namespace {

// `[N, K]`: what each class of a row with a soft label weighs.
at::Tensor weighed_shares(const at::Tensor& target, const ClassificationWeights& weights,
                          at::ScalarType type) {
  const at::Tensor share = target.to(type);
  if (!weights.of_classes.defined()) return share;
  return share * weights.of_classes.to(type).unsqueeze(0);
}

}  // namespace

at::Tensor mean_of_targets(const at::Tensor& losses, const at::Tensor& target,
                           const ClassificationWeights& weights) {
  if (target.dim() == 1) return weighted_mean(losses.squeeze(1), target, weights);
  const at::Tensor share = weighed_shares(target, weights, losses.scalar_type());
  const at::Tensor weight = share.sum(1);
  // A share of zero may stand beside an infinite loss, and 0 * inf is not zero.
  const at::Tensor each = at::where(share != 0, losses * share, at::zeros_like(losses)).sum(1);
  const at::Tensor own = at::where(weight != 0, each / at::where(weight != 0, weight, weight + 1),
                                   at::zeros_like(each));
  return weighted_mean(own, target,
                       {.of_samples = weights.of_samples.defined()
                                          ? weight * weights.of_samples.to(losses.scalar_type())
                                          : weight});
}

namespace {

// `[N]`, or undefined where nothing is weighed.
at::Tensor factors(const at::Tensor& target, const ClassificationWeights& weights,
                   at::ScalarType type) {
  at::Tensor factor;
  if (weights.of_classes.defined())
    factor = at::index_select(weights.of_classes, 0, target).to(type);
  if (weights.of_samples.defined()) {
    const at::Tensor rows = weights.of_samples.to(type);
    factor = factor.defined() ? factor * rows : rows;
  }
  return factor;
}

}  // namespace

void require_rows(const char* loss, const at::Tensor& logits, const at::Tensor& target) {
  const bool of_rows = logits.dim() == 2 && (target.dim() == 1 || target.dim() == 2) &&
                       target.size(0) == logits.size(0) &&
                       (target.dim() == 1 || target.size(1) == logits.size(1));
  if (of_rows) return;
  const auto shape = [](const at::Tensor& tensor) {
    std::string text;
    for (const std::int64_t size : tensor.sizes())
      text += (text.empty() ? "" : ", ") + std::to_string(size);
    return '[' + text + ']';
  };
  throw ConfigError(std::string("[") + loss +
                    "] logits must be [N, classes] and targets [N] or [N, classes], got " +
                    shape(logits) + " and " + shape(target));
}

at::Tensor weighted_mean(const at::Tensor& losses, const at::Tensor& target,
                         const ClassificationWeights& weights) {
  if (!weights.of_classes.defined() && !weights.of_samples.defined()) return losses.mean();
  const at::Tensor factor = factors(target, weights, losses.scalar_type());
  // A row of weight zero may hold an infinite loss, and 0 * inf is not zero.
  const at::Tensor kept = at::where(factor != 0, losses, at::zeros_like(losses));
  const at::Tensor total = factor.sum();
  const at::Tensor sum = (kept * factor).sum();
  return at::where(total != 0, sum / at::where(total != 0, total, total + 1), sum * 0);
}

}  // namespace detail

at::Tensor sum_of_weights(const at::Tensor& target, const ClassificationWeights& weights,
                          const at::TensorOptions& options) {
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  const at::Tensor counted = detail::counted_targets(target, weights.of_samples);
  if (target.dim() == 2) {
    const at::Tensor rows = detail::weighed_shares(counted, weights, type).sum(1);
    return weights.of_samples.defined() ? (rows * weights.of_samples.to(type)).sum() : rows.sum();
  }
  const at::Tensor factor = detail::factors(counted, weights, type);
  return factor.defined() ? factor.sum()
                          : at::full({}, static_cast<double>(target.size(0)), options);
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                         const CrossEntropyOptions& options) {
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0.0 && smoothing < 1.0))
    throw ConfigError("[cross_entropy] label_smoothing must lie in [0, 1), got " +
                      std::to_string(smoothing));
  detail::require_rows("cross_entropy", logits, target);
  const at::Tensor log_p = at::log_softmax(detail::in_full_precision(logits), 1);
  const at::Tensor counted = detail::counted_targets(target, options.weights.of_samples);
  at::Tensor losses = -detail::of_targets(log_p, counted);
  if (smoothing > 0.0)
    losses = losses * (1.0 - smoothing) - log_p.mean(1, /*keepdim=*/true) * smoothing;
  return detail::mean_of_targets(losses, counted, options.weights);
}

}  // namespace headrace::inline v1::models
