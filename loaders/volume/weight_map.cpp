#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/volume/detail/foreground/cell_grid.h>
#include <headrace/loaders/volume/volume_values.h>
#include <headrace/loaders/volume/weight_map.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

using detail::CellGrid;

std::vector<float> weights_in(const CachedVolume& from, const VolumeBox& box) {
  std::vector<float> weights(static_cast<std::size_t>(voxels_of(box.shape())));
  to_float(from.info(), detail::box_voxels(from, box), weights.data());
  return weights;
}

double sum_of(const CachedVolume& from, const VolumeBox& box) {
  const std::vector<float> weights = weights_in(from, box);
  double sum = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0.0F && weights[i] <= std::numeric_limits<float>::max())) {
      const VolumeIndex at = detail::voxel_at(box, static_cast<std::int64_t>(i));
      throw DataError("[weight map] " + from.volume().name() +
                      ": a weight must be finite and not negative, got " +
                      std::to_string(weights[i]) + " at voxel " + std::to_string(at[1]) + " " +
                      std::to_string(at[2]) + " " + std::to_string(at[3]) + " (z y x)");
    }
    sum += weights[i];
  }
  return sum;
}

/// A cell, and what of its sum lies before the voxel.
struct DrawnCell {
  std::int64_t cell = 0;
  double before = 0.0;
};

DrawnCell draw(const std::vector<double>& ends, Random& random) {
  const double number = random.uniform() * ends.back();
  // Rounded up to all of it, it still is in the last cell that has weights.
  const auto end = number < ends.back() ? std::upper_bound(ends.begin(), ends.end(), number)
                                        : std::lower_bound(ends.begin(), ends.end(), ends.back());
  return {end - ends.begin(), number - (end == ends.begin() ? 0.0 : *(end - 1))};
}

}  // namespace

WeightMap::WeightMap(std::shared_ptr<const CachedVolume> weights, int threads)
    : weights_(std::move(weights)) {
  const VolumeInfo& info = weights_->info();
  if (info.shape[0] != 1) {
    throw ConfigError("[weight map] " + weights_->volume().name() +
                      ": weights must have 1 channel, got " + std::to_string(info.shape[0]));
  }
  if (threads < 1 || threads > 1024)
    throw ConfigError("[weight map] threads must be 1 to 1024, got " + std::to_string(threads));
  const CellGrid cells = CellGrid::of(info);
  ends_.resize(static_cast<std::size_t>(voxels_of(cells.grid())));
  detail::in_parallel(ends_.size(), static_cast<std::size_t>(threads), [&] {
    return [&](std::size_t cell) {
      ends_[cell] = sum_of(*weights_, cells.box(static_cast<std::int64_t>(cell)));
    };
  });
  double sum = 0.0;
  for (double& end : ends_)
    end = sum += end;
  if (!(sum > 0.0)) {
    throw DataError("[weight map] " + weights_->volume().name() +
                    ": a weight must be above 0 somewhere, got 0 everywhere");
  }
}

VolumeBox WeightMap::cell_of(Random random) const {
  return CellGrid::of(weights_->info()).box(draw(ends_, random).cell);
}

VolumeIndex WeightMap::pick_voxel(Random& random) const {
  const DrawnCell drawn = draw(ends_, random);
  const VolumeBox box = CellGrid::of(weights_->info()).box(drawn.cell);
  const std::vector<float> weights = weights_in(*weights_, box);
  double sum = 0.0;
  std::int64_t last = 0;  // that has a weight: of a sum that rounding puts behind all of them
  for (std::size_t i = 0; i < weights.size() && sum <= drawn.before; ++i) {
    if (!(weights[i] > 0.0F)) continue;
    sum += weights[i];
    last = static_cast<std::int64_t>(i);
  }
  return detail::voxel_at(box, last);
}

}  // namespace headrace::inline v1
