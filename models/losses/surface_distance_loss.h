#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>

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

struct SurfaceDistances {
  double limit = 2.0;  ///< in (0, 2] voxels: what is further away counts as that
  /// Counts what of the target is far from the prediction, too.
  bool missed = true;
  /// Voxels with a larger probability are the prediction that `missed` measures from.
  double threshold = 0.5;
  /// Distance to the target where a loader has made it, of its shape: voxels in floating point, or
  /// squared voxels in integers, which a byte holds exactly up to 15 voxels; or undefined.
  at::Tensor to_target = {};
};

struct SurfaceDistanceOptions {
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
  SurfaceDistances distances = {};
};

/// Mean over all that counts of min(d(t) / limit, 1) p + min(d(p) / limit, 1) (1 - p) t: d(t) is
/// the distance to the target, d(p) that to the prediction, p the sigmoid of the logits. What is
/// found costs the more the further it is from the target, and what is missed the more the further
/// it is from what is found; no gradient goes through distances. Where there is no target, or no
/// prediction, all is far from it. `logits`, `target` and types are those of `cldice_loss`. Ignored
/// voxels are neither target nor prediction, and distances lead across them. Zero where nothing
/// counts. Throws `ConfigError` for other shapes and limits.
HEADRACE_API MeanLoss surface_distance_loss(const at::Tensor& logits, const at::Tensor& target,
                                            const SurfaceDistanceOptions& options = {});

/// The same of maps that other losses use, too.
HEADRACE_API MeanLoss surface_distance_loss(const MaskedMaps& maps,
                                            const SurfaceDistances& distances = {});

}  // namespace headrace::inline v1::models
