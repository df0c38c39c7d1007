#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/soft_skeleton.h>

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

}  // namespace headrace::inline v1::models
