#include <headrace/models/networks/detail/refuse.h>
#include <headrace/models/networks/nnunet_planner.h>
#include <headrace/models/networks/nnunet_topology.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/ArrayRef.h>

namespace headrace::inline v1::models {

namespace {

const std::string planner = "nnU-Net planner";
constexpr auto smallest_side = static_cast<std::int64_t>(detail::smallest_side);
constexpr std::int64_t most_features_2d = 512;
constexpr std::int64_t most_features_3d = 320;

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
  NnUNetTopology topology =
      nnunet_topology({patch.patch_size.begin(), patch.patch_size.end()},
                      patch.spacing.empty() ? std::vector<double>(dims, 1.0) : patch.spacing);
  options.strides = std::move(topology.strides);
  options.kernel_sizes = std::move(topology.kernel_sizes);
  const std::int64_t most = dims == 2 ? most_features_2d : most_features_3d;
  std::int64_t features = std::min(patch.base_features, most);
  for (std::size_t stage = 0; stage < options.strides.size(); ++stage) {
    options.features_per_stage.push_back(features);
    features = std::min(2 * features, most);
  }
  if (options.strides.size() < 2)
    detail::refuse(planner, "patch_size must have two sides of at least ", 2 * smallest_side,
                   ", or one of at least ", 3 * smallest_side, ", to be halved, got ",
                   c10::IntArrayRef(patch.patch_size));
  return {options, padded(patch.patch_size, options)};
}

}  // namespace headrace::inline v1::models
