#pragma once

#include <headrace/engine/base/export.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// Distance of each voxel to the nearest that is not zero in `mask` `[N, K, H, W]` or `[N, K, D, H,
/// W]` of any type, in voxels, at most `limit` in (0, 2]: min(d, limit) of d in {0, 1, sqrt 2, sqrt
/// 3, 2 or more}, exactly; `limit` where a mask is empty. Float, or double. By LibTorch's
/// operations on bytes, on any device, without a wait for it and without gradient. Throws
/// `ConfigError` for other shapes and for a limit above 2, where an exact distance transform in the
/// loader is due.
HEADRACE_API at::Tensor truncated_distance(const at::Tensor& mask, double limit,
                                           at::ScalarType type = at::kFloat);

}  // namespace headrace::inline v1::models
