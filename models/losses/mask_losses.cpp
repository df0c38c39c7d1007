#include <headrace/engine/base/error.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/models/losses/targets.h>

#include <string>

#include <ATen/ops/abs.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
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

namespace {

constexpr std::int64_t window = 31;

// Rows, then columns: the same mean of the square in a sixteenth of the sums.
at::Tensor mean_around(const at::Tensor& maps) {
  const at::Tensor rows = at::avg_pool2d(maps, {1, window}, {1, 1}, {0, window / 2});
  return at::avg_pool2d(rows, {window, 1}, {1, 1}, {window / 2, 0});
}

at::Tensor sum_of(const at::Tensor& maps) {
  return maps.sum(at::IntArrayRef{2, 3});
}

// Of each mask, `[N, K]`. Weights are 1 or more, or 0 where nothing counts.
at::Tensor weighted_entropy(const at::Tensor& scores, const at::Tensor& truth,
                            const at::Tensor& weights) {
  const at::Tensor entropy =
      at::binary_cross_entropy_with_logits(scores, truth, {}, {}, at::Reduction::None);
  return sum_of(entropy * weights) / at::clamp_min(sum_of(weights), 1.0);
}

at::Tensor weighted_iou_loss(const at::Tensor& scores, const at::Tensor& truth,
                             const at::Tensor& weights) {
  const at::Tensor p = at::sigmoid(scores);
  const at::Tensor both = sum_of(p * truth * weights);
  const at::Tensor all = sum_of((p + truth) * weights);
  return 1.0 - (both + 1.0) / (all - both + 1.0);
}

}  // namespace

MeanLoss structure_loss(const at::Tensor& logits, const at::Tensor& target,
                        const StructureLossOptions& options) {
  if (logits.dim() != 4)
    throw ConfigError("[structure_loss] logits must be [N, masks, height, width], got " +
                      detail::shape_text(logits));
  at::Tensor scores = detail::in_full_precision(logits);
  at::Tensor truth =
      detail::channel_targets("structure_loss", logits, target).to(scores.scalar_type());
  const at::Tensor counts = detail::counted_targets(truth, options.of_samples, options.ignore);
  at::Tensor one = at::ones_like(truth);
  if (counts.defined()) {
    scores = at::where(counts, scores, 0.0);
    truth = at::where(counts, truth, 0.0);
    one = at::where(counts, one, 0.0);
  }
  const at::Tensor weights = one * (1.0 + 5.0 * at::abs(mean_around(truth) - truth));
  const at::Tensor losses = weighted_entropy(scores, truth, options.legacy ? one : weights) +
                            weighted_iou_loss(scores, truth, weights);
  return detail::weighted_mean(losses.mean(1), options.of_samples);
}

namespace {

constexpr double least_square = 1e-6;

// One more on either side of an axis, the same as the outermost. Padding by LibTorch's own
// operation has no deterministic gradient on a GPU.
at::Tensor with_border(const at::Tensor& maps, std::int64_t axis) {
  const at::Tensor last = maps.narrow(axis, maps.size(axis) - 1, 1);
  return at::cat({maps.narrow(axis, 0, 1), maps, last}, axis);
}

// Differences along an axis, smoothed across it: a convolution by slices, which autocast leaves in
// full precision.
at::Tensor sobel(const at::Tensor& bordered, std::int64_t along, std::int64_t across) {
  const std::int64_t length = bordered.size(along) - 2;
  const at::Tensor change = bordered.narrow(along, 2, length) - bordered.narrow(along, 0, length);
  const std::int64_t width = bordered.size(across) - 2;
  return change.narrow(across, 0, width) + change.narrow(across, 1, width) * 2.0 +
         change.narrow(across, 2, width);
}

at::Tensor magnitudes(const at::Tensor& maps) {
  const at::Tensor bordered = with_border(with_border(maps, 2), 3);
  const at::Tensor across = sobel(bordered, 3, 2);
  const at::Tensor down = sobel(bordered, 2, 3);
  return at::sqrt(across.square() + down.square() + least_square);
}

// What weighs in the mean, to be broadcast; undefined when all weighs the same.
at::Tensor factors(const at::Tensor& target, const EdgeLossOptions& options, at::ScalarType type) {
  at::Tensor rows;
  if (options.of_samples.defined())
    rows = detail::beside_axes(options.of_samples.to(type), target.dim());
  if (!options.ignore) return rows;
  const at::Tensor unknown = (target == *options.ignore).to(type);
  const at::Tensor clear = (at::max_pool2d(unknown, {3, 3}, {1, 1}, {1, 1}) == 0).to(type);
  return rows.defined() ? clear * rows : clear;
}

}  // namespace

MeanLoss edge_loss(const at::Tensor& logits, const at::Tensor& target,
                   const EdgeLossOptions& options) {
  if (logits.dim() != 4)
    throw ConfigError("[edge_loss] logits must be [N, masks, height, width], got " +
                      detail::shape_text(logits));
  const at::Tensor full = detail::in_full_precision(logits);
  const at::ScalarType type = full.scalar_type();
  const at::Tensor given = detail::channel_targets("edge_loss", logits, target).to(type);
  const at::Tensor counts = detail::counted_targets(given, options.of_samples, options.ignore);
  const at::Tensor scores = counts.defined() ? at::where(counts, full, 0.0) : full;
  const at::Tensor truth = counts.defined() ? at::where(counts, given, 0.0) : given;
  const at::Tensor apart = magnitudes(at::sigmoid(scores)) - magnitudes(truth);
  return detail::weighted_mean(apart.square(), factors(given, options, type));
}

}  // namespace headrace::inline v1::models
