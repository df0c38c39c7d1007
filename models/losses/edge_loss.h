#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct EdgeLossOptions {
  /// Value of targets that give nothing: no 3 x 3 pixels with one of them count.
  std::optional<std::int64_t> ignore = {};
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
};

/// Mean squared difference of the Sobel gradient magnitudes of `sigmoid(logits)` and of the target,
/// over all pixels that count. The magnitude is sqrt(gx^2 + gy^2 + 1e-6), so that its gradient is
/// finite where nothing changes; beyond the border the outermost pixels go on. `logits` are `[N, K,
/// H, W]` of K masks that exclude nothing; `target` is of the same shape, or with one channel also
/// without its axis; values in [0, 1] of any type. Computed in float from half precision, in double
/// from double. A mask and its opposite have the same edges: this is a term beside others. Zero
/// where nothing counts. Throws `ConfigError` for other shapes.
HEADRACE_API MeanLoss edge_loss(const at::Tensor& logits, const at::Tensor& target,
                                const EdgeLossOptions& options = {});

}  // namespace headrace::inline v1::models
