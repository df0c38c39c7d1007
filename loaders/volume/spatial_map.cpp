#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/spatial_map.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1 {
namespace {

/// Values of a cubic B-spline along one axis, [before, count, behind], for half the spacing: those
/// between which the same spline lies, twice as many less three.
std::vector<float> halved(const std::vector<float>& values, std::size_t count, std::size_t behind) {
  const std::size_t before = values.size() / (count * behind);
  const std::size_t more = 2 * count - 3;
  std::vector<float> out(before * more * behind);
  for (std::size_t i = 0; i < before; ++i) {
    for (std::size_t k = 0; k < more; ++k) {
      const float* from = values.data() + (i * count + k / 2) * behind;
      float* to = out.data() + (i * more + k) * behind;
      for (std::size_t j = 0; j < behind; ++j) {
        to[j] = k % 2 == 0 ? 0.5F * (from[j] + from[behind + j])
                           : 0.125F * (from[j] + 6.0F * from[behind + j] + from[2 * behind + j]);
      }
    }
  }
  return out;
}

}  // namespace

std::array<MoveBounds, 3> move_bounds(const SpatialMap& map) {
  std::array<MoveBounds, 3> bounds{};
  if (map.knots[0] == 0) return bounds;
  const auto nz = static_cast<std::size_t>(map.knots[0]);
  const auto ny = static_cast<std::size_t>(map.knots[1]);
  const auto nx = static_cast<std::size_t>(map.knots[2]);
  const std::vector<float> in_z = halved(map.displacement, nz, ny * 3 * nx);
  const std::vector<float> in_y = halved(in_z, ny, 3 * nx);
  const std::vector<float> values = halved(in_y, nx, 1);
  const std::size_t along = 2 * nx - 3;
  for (std::size_t i = 0; i < values.size(); ++i) {
    MoveBounds& axis = bounds[i / along % 3];
    axis.least = std::min(axis.least, values[i]);
    axis.most = std::max(axis.most, values[i]);
  }
  return bounds;
}

std::int32_t SpatialMap::knots_for(std::int64_t voxels, double spacing) noexcept {
  return static_cast<std::int32_t>(std::floor(static_cast<double>(voxels - 1) / spacing)) + 5;
}

VolumeBox reach_of(const SpatialMap& map) {
  VolumeBox box{.begin = {0, 0, 0, 0}, .end = {1, 1, 1, 1}};
  const std::array<MoveBounds, 3> moves = move_bounds(map);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double low = map.origin[axis];
    double high = low;
    for (std::size_t of = 0; of < 3; ++of) {
      const double way = map.matrix[3 * axis + of] * static_cast<double>(map.patch[of] - 1);
      (way < 0.0 ? low : high) += way;
    }
    low += moves[axis].least;
    high += moves[axis].most;
    // A place that rounding puts beyond them means the edge, which is as near.
    box.begin[axis + 1] = static_cast<std::int64_t>(std::floor(low));
    box.end[axis + 1] = static_cast<std::int64_t>(std::ceil(high)) + 1;
  }
  return box;
}

VolumeBox reach_in(const SpatialMap& map, const VolumeInfo& info) {
  VolumeBox box = reach_of(map);
  for (std::size_t axis = 1; axis < 4; ++axis) {
    const std::int64_t extent = info.shape[axis];
    box.begin[axis] = std::clamp(box.begin[axis], std::int64_t{-1}, extent);
    box.end[axis] = std::clamp(box.end[axis], box.begin[axis] + 1, extent + 1);
  }
  return box;
}

detail::PatchMap detail::patch_map(const SpatialMap& map, const VolumeBox& box) {
  PatchMap made{};
  std::copy(map.matrix.begin(), map.matrix.end(), made.matrix);
  const VolumeIndex shape = box.shape();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.origin[axis] = map.origin[axis] - static_cast<double>(box.begin[axis + 1]);
    made.knots[axis] = map.knots[axis];
    made.box_shape[axis] = static_cast<std::int32_t>(shape[axis + 1]);
    made.patch[axis] = static_cast<std::int32_t>(map.patch[axis]);
  }
  if (map.knots[0] > 0) made.knots_per_voxel = static_cast<float>(1.0 / map.knot_spacing);
  return made;
}

}  // namespace headrace::inline v1
