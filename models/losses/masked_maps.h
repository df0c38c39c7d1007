#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct MaskedMapsOptions {
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
};

/// One mask of probabilities beside its target, which several losses share: float, or double from
/// double, of the logits' shape.
struct MaskedMaps {
  at::Tensor p = {};           ///< sigmoid of the logits, 0 without gradient where nothing counts
  at::Tensor truth = {};       ///< the target, 0 where nothing counts
  at::Tensor valid = {};       ///< bool, what counts, to be broadcast; undefined when all does
  at::Tensor counts = {};      ///< `[N]`: how many voxels of each row count
  at::Tensor of_samples = {};  ///< factors of the rows in the type of `p`, or undefined
};

/// Makes the maps of `logits` `[N, 1, H, W]` or `[N, 1, D, H, W]` and a target of the same shape,
/// or without the channel's axis, of any type, in {0, 1} or `ignore`. What is ignored is neither
/// mask nor target to whatever looks around itself (skeletons, distances): as if nothing were
/// there. Its logits may be NaN. Throws `ConfigError` for other shapes.
HEADRACE_API MaskedMaps masked_maps(const at::Tensor& logits, const at::Tensor& target,
                                    const MaskedMapsOptions& options = {});

namespace detail {

/// What the loader gives beside the target, of its shape, in the type of `maps.p`: 0 where nothing
/// counts. Throws `ConfigError` that names `loss` for another shape.
HEADRACE_API at::Tensor counted_companion(const std::string& loss, const at::Tensor& given,
                                          const MaskedMaps& maps);

/// Sums of each row, `[N]`.
HEADRACE_API at::Tensor sum_of_rows(const at::Tensor& maps);

/// Mean over the voxels that count of losses that are 0 elsewhere, rows by their factors; zero
/// where nothing counts. The weight is the number of voxels, by these factors.
HEADRACE_API MeanLoss mean_of_counted(const at::Tensor& losses, const MaskedMaps& maps);

}  // namespace detail

}  // namespace headrace::inline v1::models
