#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct RegionLossOptions {
  /// Added above and below the fraction; not negative.
  double smooth = 1e-5;
  /// Channels are regions that exclude nothing, of sigmoids; else classes of one softmax.
  bool sigmoid = false;
  /// Sums are over all rows, and not of each: steadier where a class is small or seldom there. The
  /// loss is then no mean of its rows, and that of two batches not that of both together.
  bool batch = false;
  bool background = true;                   ///< class 0 of a softmax counts
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient;
  /// with `batch` all others count alike.
  at::Tensor of_samples = {};
};

/// Soft Dice loss `1 - (2 I + s) / max(T + P + s, 1e-8)`: of each class and row, I the sum of
/// probabilities where the target is the class, P that of all, T the number of targets; then the
/// mean over classes, and over rows. The form of nnU-Net (Isensee et al., 2021), which writes it
/// without the 1. `logits` are `[N, K, ...]`; `target` class indices `[N, ...]` of integers, or
/// values in [0, 1] of the logits' shape, or with one channel `[N, ...]`. Computed in float from
/// half precision, in double from double. A class that is neither in a row nor predicted there has
/// loss 0. The weight is that of the rows. Throws `ConfigError` for a softmax of one channel, for
/// other shapes, a negative `smooth`, and for sigmoids whose background is to be left out.
HEADRACE_API MeanLoss soft_dice_loss(const at::Tensor& logits, const at::Tensor& target,
                                     const RegionLossOptions& options = {});

/// Soft IoU (Jaccard) loss `1 - (I + s) / max(T + P - I + s, 1e-8)`, else as `soft_dice_loss`.
HEADRACE_API MeanLoss soft_iou_loss(const at::Tensor& logits, const at::Tensor& target,
                                    const RegionLossOptions& options = {});

}  // namespace headrace::inline v1::models
