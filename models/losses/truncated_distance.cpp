#include <headrace/engine/base/error.h>
#include <headrace/models/losses/targets.h>
#include <headrace/models/losses/truncated_distance.h>

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

}  // namespace headrace::inline v1::models
