#include <headrace/engine/base/error.h>
#include <headrace/models/losses/edge_loss.h>
#include <headrace/models/losses/targets.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::models {

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
