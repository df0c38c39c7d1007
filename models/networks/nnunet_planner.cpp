#include <headrace/models/networks/detail/refuse.h>
#include <headrace/models/networks/nnunet_planner.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <c10/util/ArrayRef.h>

namespace headrace::inline v1::models {

namespace {

const std::string planner = "nnU-Net planner";
constexpr std::int64_t smallest_side = 4;  // of the coarsest maps
constexpr std::int64_t most_features_2d = 512;
constexpr std::int64_t most_features_3d = 320;

// The patch's axes as they are at a stage.
class Axes {
 public:
  explicit Axes(const NnUNetPatch& patch)
      : sizes_(patch.patch_size), spacing_(patch.spacing), kernel_(sizes_.size(), 1) {
    if (spacing_.empty()) spacing_.assign(sizes_.size(), 1.0);
  }

  // 2 for each axis that is halved next, 1 for the others; all 1 at the end.
  std::vector<std::int64_t> next_stride() const {
    std::vector<std::int64_t> stride(sizes_.size(), 1);
    double shortest = INFINITY;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
      if (can_halve(axis)) shortest = std::min(shortest, spacing_[axis]);
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
      if (can_halve(axis) && spacing_[axis] < 2 * shortest) stride[axis] = 2;
    if (std::ranges::count(stride, 2) == 1) {
      const auto alone = static_cast<std::size_t>(std::ranges::find(stride, 2) - stride.begin());
      if (sizes_[alone] < 3 * smallest_side) stride[alone] = 1;
    }
    return stride;
  }

  // Of the present stage. What was 3 once remains it.
  const std::vector<std::int64_t>& grown_kernel() {
    const double shortest = std::ranges::min(spacing_);
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
      if (spacing_[axis] < 2 * shortest) kernel_[axis] = 3;
    return kernel_;
  }

  void halve(const std::vector<std::int64_t>& stride) {
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      sizes_[axis] = (sizes_[axis] + stride[axis] - 1) / stride[axis];
      spacing_[axis] *= static_cast<double>(stride[axis]);
    }
  }

 private:
  bool can_halve(std::size_t axis) const { return sizes_[axis] >= 2 * smallest_side; }

  std::vector<std::int64_t> sizes_;
  std::vector<double> spacing_;
  std::vector<std::int64_t> kernel_;
};

void check(const NnUNetPatch& patch) {
  const std::size_t dims = patch.patch_size.size();
  if ((dims != 2 && dims != 3) || std::ranges::min(patch.patch_size) < 1)
    detail::refuse(planner, "patch_size must be 2 or 3 sides of at least 1, got ",
                   c10::IntArrayRef(patch.patch_size));
  const bool positive = std::ranges::all_of(
      patch.spacing, [](double length) { return std::isfinite(length) && length > 0.0; });
  if (!patch.spacing.empty() && (patch.spacing.size() != dims || !positive))
    detail::refuse(planner, "spacing must be ", dims, " positive lengths, one for each side, got ",
                   c10::ArrayRef<double>(patch.spacing));
  if (patch.base_features < 1)
    detail::refuse(planner, "base_features must be at least 1, got ", patch.base_features);
}

std::vector<std::int64_t> padded(std::vector<std::int64_t> sides, const NnUNetOptions& options) {
  const std::vector<std::int64_t> divisors = nnunet_side_divisors(options);
  for (std::size_t axis = 0; axis < sides.size(); ++axis)
    sides[axis] = (sides[axis] + divisors[axis] - 1) / divisors[axis] * divisors[axis];
  return sides;
}

}  // namespace

NnUNetPlan plan_nnunet(const NnUNetPatch& patch) {
  check(patch);
  const std::size_t dims = patch.patch_size.size();
  NnUNetOptions options{.dims = static_cast<std::int64_t>(dims),
                        .in_channels = patch.in_channels,
                        .classes = patch.classes,
                        .features_per_stage = {}};
  const std::int64_t most = dims == 2 ? most_features_2d : most_features_3d;
  std::int64_t features = std::min(patch.base_features, most);
  Axes axes(patch);
  std::vector<std::int64_t> stride(dims, 1);
  do {
    axes.halve(stride);
    options.strides.push_back(stride);
    options.kernel_sizes.push_back(axes.grown_kernel());
    options.features_per_stage.push_back(features);
    features = std::min(2 * features, most);
    stride = axes.next_stride();
  } while (std::ranges::count(stride, 2) > 0);
  options.kernel_sizes.back().assign(dims, 3);
  if (options.strides.size() < 2)
    detail::refuse(planner, "patch_size must have two sides of at least ", 2 * smallest_side,
                   ", or one of at least ", 3 * smallest_side, ", to be halved, got ",
                   c10::IntArrayRef(patch.patch_size));
  return {options, padded(patch.patch_size, options)};
}

}  // namespace headrace::inline v1::models
