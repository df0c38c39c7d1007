#include <headrace/engine/base/error.h>
#include <headrace/models/losses/surface_distance_loss.h>
#include <headrace/models/losses/targets.h>

#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/minimum.h>

namespace headrace::inline v1::models {

namespace {

constexpr std::int64_t far_squared = 4;

// Squared distances take in those beside them along an axis: a step is 1, and as all from 4 on are
// alike, none needs two.
void spread(const at::Tensor& squared, std::int64_t axis) {
  const std::int64_t length = squared.size(axis) - 1;
  const at::Tensor beside = squared + 1;
  for (const std::int64_t step : {0, 1}) {
    at::Tensor mine = squared.narrow(axis, 1 - step, length);
    at::minimum_out(mine, mine, beside.narrow(axis, step, length));
  }
}

}  // namespace

at::Tensor truncated_distance(const at::Tensor& mask, double limit, at::ScalarType type) {
  if (mask.dim() != 4 && mask.dim() != 5)
    throw ConfigError(
        "[truncated_distance] mask must be [N, K, height, width] or [N, K, depth, height, width], "
        "got " +
        detail::shape_text(mask));
  if (!(limit > 0.0) || limit > 2.0)
    throw ConfigError("[truncated_distance] limit must be in (0, 2] voxels, got " +
                      std::to_string(limit) +
                      "; further away use an exact distance transform in the loader");
  const at::NoGradGuard guard;
  const at::Tensor squared = (mask == 0).to(at::kByte).mul_(far_squared);
  for (std::int64_t axis = 2; axis < mask.dim(); ++axis)
    spread(squared, axis);
  return squared.to(type).sqrt_().clamp_max_(limit);
}

namespace {

// Shares of the limit in [0, 1], in the type of the maps.
at::Tensor shares_to_target(const MaskedMaps& maps, const SurfaceDistances& distances) {
  const at::ScalarType type = maps.p.scalar_type();
  const at::Tensor& given = distances.to_target;
  if (!given.defined())
    return truncated_distance(maps.truth, distances.limit, type).div_(distances.limit);
  const at::Tensor own = detail::channel_targets("surface_distance_loss", maps.p, given);
  const at::Tensor voxels = own.is_floating_point() ? own.to(type) : own.to(type).sqrt_();
  return (voxels / distances.limit).clamp_max_(1.0);
}

at::Tensor shares_to_prediction(const MaskedMaps& maps, const SurfaceDistances& distances) {
  return truncated_distance(maps.p > distances.threshold, distances.limit, maps.p.scalar_type())
      .div_(distances.limit);
}

}  // namespace

MeanLoss surface_distance_loss(const MaskedMaps& maps, const SurfaceDistances& distances) {
  if (!(distances.limit > 0.0) || distances.limit > 2.0)
    throw ConfigError("[surface_distance_loss] limit must be in (0, 2] voxels, got " +
                      std::to_string(distances.limit));
  // value = sum of p a + b: one product with p, as 1 - p stands in the other term alone.
  at::Tensor factor;
  at::Tensor missed;
  {
    const at::NoGradGuard guard;
    factor = shares_to_target(maps, distances);
    if (distances.missed) {
      missed = shares_to_prediction(maps, distances).mul_(maps.truth);
      factor.sub_(missed);
    }
  }
  const at::Tensor losses = maps.p * factor;
  return detail::mean_of_counted(missed.defined() ? losses + missed : losses, maps);
}

MeanLoss surface_distance_loss(const at::Tensor& logits, const at::Tensor& target,
                               const SurfaceDistanceOptions& options) {
  return surface_distance_loss(
      masked_maps(logits, target, {.ignore = options.ignore, .of_samples = options.of_samples}),
      options.distances);
}

}  // namespace headrace::inline v1::models
