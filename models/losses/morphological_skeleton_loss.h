#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/losses/sheet_skeletons.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

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
