#include <headrace/engine/base/error.h>
#include <headrace/models/losses/structure_loss.h>
#include <headrace/models/losses/targets.h>

#include <ATen/ops/abs.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::models {

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

}  // namespace headrace::inline v1::models
