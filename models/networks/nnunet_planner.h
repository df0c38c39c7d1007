#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/nnunet_options.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::models {

/// What nnU-Net's rules look at.
struct NnUNetPatch {
  std::vector<std::int64_t> patch_size = {};  ///< sides in voxels, 2 or 3 of them
  /// Distance of neighbouring voxels along each axis, in any unit that is the same for all.
  /// Default: the same along all axes.
  std::vector<double> spacing = {};
  std::int64_t in_channels = 1;
  std::int64_t classes = 2;
  std::int64_t base_features = 32;  ///< of the finest stage; doubled at every next one
};

struct NnUNetPlan {
  NnUNetOptions options;                 ///< for either network
  std::vector<std::int64_t> patch_size;  ///< padded to what the strides divide
};

/// Stages, strides and kernels by nnU-Net's rules (Isensee et al., Nature Methods 18, 2021).
///
/// Each stage halves the axes whose voxels are less than twice as long as the shortest among the
/// axes that can be halved, as long as 4 values are left; an axis that would be halved alone needs
/// 12 values. A kernel is 1 along an axis until its voxels are less than twice as long as the
/// shortest, and 3 from there on; at the coarsest stage it is 3. Features double up to 512 in 2D,
/// 320 in 3D.
///
/// Throws `ConfigError` for another number of axes, sides or spacings that are not positive, and a
/// patch too small to be halved.
HEADRACE_API NnUNetPlan plan_nnunet(const NnUNetPatch& patch);

}  // namespace headrace::inline v1::models
