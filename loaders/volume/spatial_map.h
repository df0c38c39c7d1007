#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstdint>
#include <vector>

namespace headrace::inline v1 {

/// From the voxels of a patch to places in a volume, one map for crop, rotation, scale, mirror and
/// elastic deformation, so that a patch is resampled once. Axes z, y, x. The place of patch voxel v
/// is origin + matrix v + displacement(v), in voxels of the volume; voxel i of it lies at place i.
struct SpatialMap {
  std::array<std::int64_t, 3> patch{1, 1, 1};
  std::array<double, 9> matrix{1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::array<double, 3> origin{};

  /// A uniform cubic B-spline: voxels between its knots (0: no displacement), knots along each axis
  /// (the second one of each axis lies at voxel 0), and their values in voxels of the volume,
  /// [knots z, knots y, 3, knots x].
  double knot_spacing = 0.0;
  std::array<std::int32_t, 3> knots{};
  std::vector<float> displacement{};

  /// Knots along an axis of so many voxels.
  static std::int32_t knots_for(std::int64_t voxels, double spacing) noexcept;
};

/// How far a map's displacement reaches along an axis, in voxels of the volume.
struct MoveBounds {
  float least = 0.0F;
  float most = 0.0F;
};

/// Bounds of the displacement along z, y, x: those of the values of its spline with knots at half
/// the spacing, between which it stays.
HEADRACE_API std::array<MoveBounds, 3> move_bounds(const SpatialMap& map);

/// Whole voxels around all places that the map reaches: what must be read for it, one channel
/// [0, 1). May reach beyond the volume.
HEADRACE_API VolumeBox reach_of(const SpatialMap& map);

/// That box, as far as it matters: a volume that ends is continued by its padding or its edge, of
/// which one voxel says all. Never empty.
HEADRACE_API VolumeBox reach_in(const SpatialMap& map, const VolumeInfo& info);

}  // namespace headrace::inline v1
