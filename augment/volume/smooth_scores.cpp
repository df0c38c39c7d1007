#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/smooth_scores.h>
#include <headrace/engine/base/error.h>

#include <string>

namespace headrace::inline v1 {
namespace {

detail::BlurAxis axis_of(double deviation) {
  if (!(deviation >= 0.0 && deviation <= 20.0)) {
    throw ConfigError("[smoothing] deviations must be 0 to 20 voxels, got " +
                      std::to_string(deviation));
  }
  if (deviation > 0.0) return detail::blur_axis(deviation);
  detail::BlurAxis same;
  same.weights[0] = 1.0F;
  return same;
}

std::array<detail::BlurAxis, 3> axes_of(const std::array<double, 3>& deviations) {
  return {axis_of(deviations[0]), axis_of(deviations[1]), axis_of(deviations[2])};
}

}  // namespace

void smooth_scores(std::span<float> scores, const GridExtent& extent,
                   const std::array<double, 3>& deviations) {
  if (voxels_of(extent) != static_cast<std::int64_t>(scores.size())) {
    throw ConfigError("[smoothing] extent says " + std::to_string(voxels_of(extent)) +
                      " voxels, got " + std::to_string(scores.size()));
  }
  detail::blur_channel(scores.data(), {scores.data(), 1, extent[0], extent[1], extent[2]},
                       axes_of(deviations));
}

}  // namespace headrace::inline v1
