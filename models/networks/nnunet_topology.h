#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace headrace::inline v1::models {

/// Strides and kernels of nnU-Net's networks, `[stage][axis]`, the finest stage first.
struct NnUNetTopology {
  std::vector<std::vector<std::int64_t>> strides{};
  std::vector<std::vector<std::int64_t>> kernel_sizes{};

  /// What a patch's sides must be multiples of: the product of the strides.
  std::vector<std::int64_t> divisors() const {
    std::vector<std::int64_t> product(strides.front().size(), 1);
    for (const std::vector<std::int64_t>& stride : strides)
      for (std::size_t axis = 0; axis < product.size(); ++axis)
        product[axis] *= stride[axis];
    return product;
  }
};

namespace detail {

inline constexpr double smallest_side = 4;  // of the coarsest maps

// A patch's axes as they are at a stage. Sides are double: the median of an even count of images
// lies between two of them.
class NnUNetAxes {
 public:
  NnUNetAxes(std::vector<double> sides, std::vector<double> spacing)
      : sides_(std::move(sides)), spacing_(std::move(spacing)), kernel_(sides_.size(), 1) {}

  // 2 for each axis that is halved next, 1 for the others; all 1 at the end.
  std::vector<std::int64_t> next_stride() const {
    std::vector<std::int64_t> stride(sides_.size(), 1);
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t axis = 0; axis < sides_.size(); ++axis)
      if (can_halve(axis)) shortest = std::min(shortest, spacing_[axis]);
    for (std::size_t axis = 0; axis < sides_.size(); ++axis)
      if (can_halve(axis) && spacing_[axis] < 2 * shortest) stride[axis] = 2;
    if (std::ranges::count(stride, 2) == 1) {
      const auto alone = static_cast<std::size_t>(std::ranges::find(stride, 2) - stride.begin());
      if (sides_[alone] < 3 * smallest_side) stride[alone] = 1;
    }
    return stride;
  }

  // Of the present stage. What was 3 once remains it.
  const std::vector<std::int64_t>& grown_kernel() {
    const double shortest = std::ranges::min(spacing_);
    for (std::size_t axis = 0; axis < sides_.size(); ++axis)
      if (spacing_[axis] < 2 * shortest) kernel_[axis] = 3;
    return kernel_;
  }

  void halve(const std::vector<std::int64_t>& stride) {
    for (std::size_t axis = 0; axis < sides_.size(); ++axis) {
      if (stride[axis] != 2) continue;
      sides_[axis] = std::ceil(sides_[axis] / 2);
      spacing_[axis] *= 2;
    }
  }

 private:
  bool can_halve(std::size_t axis) const { return sides_[axis] >= 2 * smallest_side; }

  std::vector<double> sides_;
  std::vector<double> spacing_;
  std::vector<std::int64_t> kernel_;
};

}  // namespace detail

/// The topology that plan_nnunet() describes, for a patch of `sides`, at least 1 each, as many
/// positive `spacing`. One stage where the patch is too small to be halved.
inline NnUNetTopology nnunet_topology(const std::vector<double>& sides,
                                      const std::vector<double>& spacing) {
  NnUNetTopology topology;
  detail::NnUNetAxes axes(sides, spacing);
  std::vector<std::int64_t> stride(sides.size(), 1);
  do {
    axes.halve(stride);
    topology.strides.push_back(stride);
    topology.kernel_sizes.push_back(axes.grown_kernel());
    stride = axes.next_stride();
  } while (std::ranges::count(stride, 2) > 0);
  topology.kernel_sizes.back().assign(sides.size(), 3);
  return topology;
}

}  // namespace headrace::inline v1::models
