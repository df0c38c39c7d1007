#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/losses/soft_skeleton.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// Soft skeletons of a prediction and its target, for the losses that share them. What is ignored
/// is on neither.
struct SheetSkeletons {
  at::Tensor p = {};
  at::Tensor truth = {};  ///< without gradient
};

/// Makes both; the target's is taken where a loader has made it, `[N, 1, ...]` or without the
/// channel's axis, of any type: that of a binary mask is binary, so that uint8 holds it exactly.
/// Throws `ConfigError` for another shape, and as `soft_skeleton`.
HEADRACE_API SheetSkeletons sheet_skeletons(const MaskedMaps& maps,
                                            const SoftSkeletonOptions& options = {},
                                            const at::Tensor& of_target = {});

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

struct SkeletonRecallOptions {
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
  double smooth = 1.0;  ///< added above and below the fraction; positive
};

/// Skeleton recall loss (Kirchhoff et al., ECCV 2024): of each row 1 - (sum of p S + s) / (sum of S
/// + s), then the mean over rows. The authors write it without the 1, from -1 to 0; here it is
/// positive, 0 where all of the skeleton is found. S is `grown`, the target's skeleton, dilated and
/// within the target, which a loader makes: 0 or 1 of any type in the target's shape. `logits`,
/// `target` and what is ignored are those of `cldice_loss`; of the target only that matters. It
/// says nothing about what is found beside the skeleton: a term beside others. The weight is that
/// of the rows. Throws `ConfigError` for other shapes and a smooth that is not positive.
HEADRACE_API MeanLoss skeleton_recall_loss(const at::Tensor& logits, const at::Tensor& target,
                                           const at::Tensor& grown,
                                           const SkeletonRecallOptions& options = {});

/// The same of maps that other losses use, too.
HEADRACE_API MeanLoss skeleton_recall_loss(const MaskedMaps& maps, const at::Tensor& grown,
                                           double smooth = 1.0);

struct MorphologicalSkeletonOptions {
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
  SoftSkeletonOptions skeleton = {};
  /// Skeleton of the target where a loader has made it, see `sheet_skeletons`, or undefined.
  at::Tensor target_skeleton = {};
};

/// Mean of |skeleton(p) - skeleton(t)| over all that counts, p the sigmoid of the logits. Shapes,
/// types and what is ignored are those of `cldice_loss`. Where both are 0 there is no gradient, so
/// that this is a term beside others. Zero where nothing counts. Throws `ConfigError` for other
/// shapes.
HEADRACE_API MeanLoss morphological_skeleton_loss(const at::Tensor& logits,
                                                  const at::Tensor& target,
                                                  const MorphologicalSkeletonOptions& options = {});

/// The same of maps and skeletons that other losses use, too.
HEADRACE_API MeanLoss morphological_skeleton_loss(const MaskedMaps& maps,
                                                  const SheetSkeletons& skeletons);

}  // namespace headrace::inline v1::models
