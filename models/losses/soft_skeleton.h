#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// Windows by which a skeleton is worn down.
enum class SkeletonOperators {
  cross,  ///< clDice as published: the minimum over the neighbours along the axes
  cube,   ///< the minimum over all 26 (8) neighbours, and the maximum of the layers
};

struct SoftSkeletonOptions {
  /// Not negative, with `cube` positive: at least half of the largest thickness in voxels; more
  /// find nothing.
  std::int64_t iterations = 3;
  SkeletonOperators operators = SkeletonOperators::cross;
};

/// The soft skeleton of `maps` `[N, K, H, W]` or `[N, K, D, H, W]` of values in [0, 1], float or
/// double, in their shape and type (Shit et al., clDice, CVPR 2021). x is the map, opened is the
/// maximum over 3 x 3 (x 3) of the eroded map, and a layer is relu(x - opened), of x and of what
/// `iterations` erosions leave of it; the skeleton s takes each as s + layer (1 - s). With `cube`
/// there are `iterations` layers in all, and s takes their maximum. What is outside does not count.
///
/// The gradient goes, of equal values in a window, to the one in the middle, else to the one before
/// it: for windows of all neighbours along z, then y, then x; in a cross in the order z, y, x. That
/// of a layer of exactly 0 is 0. Between the passes two bytes a voxel and layer are kept, and the
/// layers. No gradient of the gradient: create_graph is a `ConfigError`. The same for any number of
/// threads. Throws `ConfigError` for other shapes and types and for too few iterations.
HEADRACE_API at::Tensor soft_skeleton(const at::Tensor& maps,
                                      const SoftSkeletonOptions& options = {});

}  // namespace headrace::inline v1::models
