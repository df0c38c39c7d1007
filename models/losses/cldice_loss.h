#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/losses/sheet_skeletons.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct ClDiceOptions {
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
  SoftSkeletonOptions skeleton = {};
  double smooth = 1.0;  ///< added above and below both fractions; positive
  /// Skeleton of the target where a loader has made it, see `sheet_skeletons`, or undefined.
  at::Tensor target_skeleton = {};
};

/// clDice loss (Shit et al., CVPR 2021): of each row 1 - 2 a b / (a + b) with a = (sum of
/// skeleton(p) t + s) / (sum of skeleton(p) + s), how much of the predicted skeleton lies in the
/// target, and b = (sum of skeleton(t) p + s) / (sum of skeleton(t) + s), how much of the target's
/// is found; then the mean over rows. `logits` are `[N, 1, H, W]` or `[N, 1, D, H, W]`, p their
/// sigmoid; `target` is of the same shape, or without the channel's axis, in {0, 1} or `ignore`.
/// Computed in float from half precision, in double from double. What is ignored is on no skeleton,
/// as if nothing were there. The weight is that of the rows. Throws `ConfigError` for other shapes
/// and a smooth that is not positive.
HEADRACE_API MeanLoss cldice_loss(const at::Tensor& logits, const at::Tensor& target,
                                  const ClDiceOptions& options = {});

/// The same of maps and skeletons that other losses use, too.
HEADRACE_API MeanLoss cldice_loss(const MaskedMaps& maps, const SheetSkeletons& skeletons,
                                  double smooth = 1.0);

}  // namespace headrace::inline v1::models
