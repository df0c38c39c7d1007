#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

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

}  // namespace headrace::inline v1::models
