#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct StructureLossOptions {
  /// The published code's form, whose cross entropy is a plain mean: there a string stands where an
  /// old argument wants a truth value, so the weights cancel.
  bool legacy = false;
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
};

/// The structure loss of F3Net (Wei, Wang, Huang, AAAI 2020), which PraNet and SINet use: of each
/// mask and row binary cross entropy plus 1 - (I + 1) / (U - I + 1), pixels weighted in both by 1 +
/// 5 |mean of the 31 x 31 targets around - target|, most at edges; then the mean over masks, and
/// over rows. I is the weighted sum of probability times target, U that of both. What lies outside,
/// or is ignored, counts as 0 in the mean around. `logits` are `[N, K, H, W]` of K masks that
/// exclude nothing; `target` is of the same shape, or with one channel also without its axis;
/// values in [0, 1] of any type. Computed in float from half precision, in double from double. A
/// mask without anything that counts has loss 0. The weight is that of the rows. Throws
/// `ConfigError` for other shapes.
HEADRACE_API MeanLoss structure_loss(const at::Tensor& logits, const at::Tensor& target,
                                     const StructureLossOptions& options = {});

}  // namespace headrace::inline v1::models
