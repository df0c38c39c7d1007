#include <headrace/augment/volume/window_grid.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1 {
namespace {

[[noreturn]] void refuse_windows(const std::string& rule, const std::string& got) {
  throw ConfigError("[windows] " + rule + ", got " + got);
}

/// Whatever the rounding mode is.
std::int64_t round_half_even(double value) {
  const double below = std::floor(value), part = value - below;
  const auto whole = static_cast<std::int64_t>(below);
  if (part != 0.5) return part < 0.5 ? whole : whole + 1;
  return whole % 2 == 0 ? whole : whole + 1;
}

std::vector<std::int64_t> positions(std::int64_t extent, std::int64_t patch, double step) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (extent < 1 || patch < 1 || extent > most || patch > most) {
    refuse_windows("extent and patch must be 1 to 2^40",
                   std::to_string(extent) + " and " + std::to_string(patch));
  }
  if (patch >= extent) return {-((patch - extent) / 2)};
  const auto room = static_cast<double>(extent - patch);
  const auto count = static_cast<std::int64_t>(std::ceil(room / step)) + 1;
  const double apart = room / static_cast<double>(count - 1);
  std::vector<std::int64_t> begins;
  for (std::int64_t i = 0; i < count; ++i)
    begins.push_back(round_half_even(apart * static_cast<double>(i)));
  return begins;
}

/// Weights along one side, the middle's 1.
std::vector<double> bell(std::int64_t side, double sigma) {
  constexpr double reach = 4.0;
  std::vector<double> weights(static_cast<std::size_t>(side), 1.0);
  const double deviation = sigma * static_cast<double>(side);
  if (deviation <= 1e-15) return weights;
  const auto radius = static_cast<std::int64_t>(reach * deviation + 0.5);
  for (std::int64_t i = 0; i < side; ++i) {
    const std::int64_t away = std::abs(i - side / 2);
    const double share = static_cast<double>(away) / deviation;
    weights[static_cast<std::size_t>(i)] = away > radius ? 0.0 : std::exp(-0.5 * share * share);
  }
  return weights;
}

void replace_zeros(std::vector<float>& weights) {
  float least = std::numeric_limits<float>::infinity();
  for (const float weight : weights)
    if (weight > 0.0F) least = std::min(least, weight);
  std::ranges::replace(weights, 0.0F, least);
}

}  // namespace

std::vector<std::int64_t> window_positions(std::int64_t extent, std::int64_t patch, double share) {
  if (!(share > 0.0 && share <= 1.0))
    refuse_windows("a step must be in (0, 1] of the patch", std::to_string(share));
  return positions(extent, patch, static_cast<double>(patch) * share);
}

std::vector<std::int64_t> window_positions_by(std::int64_t extent, std::int64_t patch,
                                              std::int64_t voxels) {
  if (voxels < 1 || voxels > patch) {
    refuse_windows("a step must be 1 voxel to the patch's " + std::to_string(patch),
                   std::to_string(voxels));
  }
  return positions(extent, patch, static_cast<double>(voxels));
}

WindowGrid::WindowGrid(const GridExtent& extent, const WindowOptions& options)
    : extent_(extent), patch_(options.patch) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    begins_[axis] = options.step
                        ? window_positions_by(extent[axis], patch_[axis], (*options.step)[axis])
                        : window_positions(extent[axis], patch_[axis], options.share);
  }
}

std::int64_t WindowGrid::size() const noexcept {
  return static_cast<std::int64_t>(begins_[0].size() * begins_[1].size() * begins_[2].size());
}

GridBox WindowGrid::operator[](std::int64_t window) const {
  if (window < 0 || window >= size())
    refuse_windows("a window's number must be below " + std::to_string(size()),
                   std::to_string(window));
  GridBox box;
  for (const std::size_t axis : {2, 1, 0}) {
    const auto along = static_cast<std::int64_t>(begins_[axis].size());
    box.begin[axis] = begins_[axis][static_cast<std::size_t>(window % along)];
    box.end[axis] = box.begin[axis] + patch_[axis];
    window /= along;
  }
  return box;
}

GridBox WindowGrid::inside(std::int64_t window) const {
  GridBox box = (*this)[window];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box.begin[axis] = std::max<std::int64_t>(box.begin[axis], 0);
    box.end[axis] = std::min(box.end[axis], extent_[axis]);
  }
  return box;
}

std::vector<float> gaussian_window(const GridExtent& patch, const WindowWeights& weights) {
  if (!(weights.sigma >= 0.0))
    refuse_windows("sigma must not be below 0", std::to_string(weights.sigma));
  if (!(weights.peak > 0.0 && weights.peak <= 65504.0))
    refuse_windows("peak must be above 0 and at most 65504", std::to_string(weights.peak));
  if (voxels_of(patch) == 0) refuse_windows("a patch must have voxels", "0");
  const std::vector<double> z = bell(patch[0], weights.sigma);
  const std::vector<double> y = bell(patch[1], weights.sigma);
  const std::vector<double> x = bell(patch[2], weights.sigma);
  std::vector<float> window;
  window.reserve(static_cast<std::size_t>(voxels_of(patch)));
  for (const double of_z : z)
    for (const double of_y : y)
      for (const double of_x : x)
        window.push_back(static_cast<float>(weights.peak * of_z * of_y * of_x));
  replace_zeros(window);
  return window;
}

}  // namespace headrace::inline v1
