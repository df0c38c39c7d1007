#include <headrace/apps/jobs/segmentation/nnunet_figures.h>
#include <headrace/apps/jobs/segmentation/nnunet_plan.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/nnunet_topology.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

constexpr double covered = 0.05;        // of the data set by a batch, at most
constexpr double reference_memory = 8;  // GB
constexpr std::int64_t least_batch = 2;
constexpr std::int64_t first_features = 32;
constexpr std::int64_t convolutions = 2;  // a stage

/// What nnU-Net measured on a card of 8 GB.
struct Reference {
  double values;  // of feature maps
  double batch;
  double voxels;  // that a patch begins with
  std::int64_t most_features;
};
constexpr Reference reference_2d{85'000'000, 12, 2048.0 * 2048.0, 512};
constexpr Reference reference_3d{560'000'000, 2, 256.0 * 256.0 * 256.0, 320};

/// A patch and the network that it gets, as the patch shrinks.
struct Network {
  std::vector<std::int64_t> patch{};
  models::NnUNetTopology topology{};
  std::vector<std::int64_t> features{};
  double values = 0;
};

Network network_for(const std::vector<double>& sides, const std::vector<double>& spacing,
                    std::int64_t labels, const Reference& reference) {
  Network network{.topology = models::nnunet_topology(sides, spacing)};
  const std::vector<std::int64_t> divisors = network.topology.divisors();
  for (std::size_t axis = 0; axis < sides.size(); ++axis) {
    const auto divisor = static_cast<double>(divisors[axis]);
    network.patch.push_back(static_cast<std::int64_t>(std::ceil(sides[axis] / divisor)) *
                            divisors[axis]);
  }
  std::int64_t features = first_features;
  for (std::size_t stage = 0; stage < network.topology.strides.size(); ++stage) {
    network.features.push_back(features);
    features = std::min(2 * features, reference.most_features);
  }
  network.values =
      feature_map_values(network.patch, network.topology.strides, network.features, labels);
  return network;
}

/// Takes from the axis that is the largest part of the median image as little as its network's
/// strides allow.
std::vector<double> smaller(const Network& network, const std::vector<double>& spacing,
                            const std::vector<double>& median) {
  std::size_t axis = 0;
  const auto part = [&](std::size_t i) {
    return static_cast<double>(network.patch[i]) / median[i];
  };
  for (std::size_t i = 1; i < median.size(); ++i)
    if (part(i) >= part(axis)) axis = i;
  std::vector<double> sides{network.patch.begin(), network.patch.end()};
  std::vector<double> tried = sides;
  tried[axis] -= static_cast<double>(network.topology.divisors()[axis]);
  const std::int64_t step = tried[axis] < 1
                                ? network.topology.divisors()[axis]
                                : models::nnunet_topology(tried, spacing).divisors()[axis];
  sides[axis] -= static_cast<double>(step);
  if (sides[axis] < 1)
    refuse_plan("no patch is small enough for gpu_memory; give more, or resample the images");
  return sides;
}

}  // namespace

void refuse_plan(const std::string& rule) {
  throw ConfigError("[nnU-Net plan] " + rule);
}

NnUNetConfiguration configure_nnunet(const std::string& name, const std::vector<double>& spacing,
                                     const std::vector<double>& median, double voxels,
                                     const NnUNetQuestion& question) {
  const std::size_t dims = spacing.size();
  const Reference& reference = dims == 2 ? reference_2d : reference_3d;
  std::vector<double> fineness;
  fineness.reserve(dims);
  for (const double length : spacing)
    fineness.push_back(1 / length);
  const double scale = std::pow(reference.voxels / product_of(fineness), dims == 2 ? 0.5 : 1.0 / 3);
  std::vector<double> sides;
  for (std::size_t axis = 0; axis < dims; ++axis)
    sides.push_back(std::max(1.0, std::min(std::nearbyint(fineness[axis] * scale), median[axis])));
  Network network = network_for(sides, spacing, question.labels, reference);
  const std::vector<std::int64_t> first = network.patch;
  const double most = reference.values * (question.gpu_memory / reference_memory);
  int cuts = 0;
  for (; network.values / reference.batch * 2 > most; ++cuts)
    network = network_for(smaller(network, spacing, median), spacing, question.labels, reference);
  if (network.topology.strides.size() < 2)
    refuse_plan(
        fmt::format("images of a median of {} voxels are too small to be halved once ({}); "
                    "resample them finer",
                    fmt::join(median, "x"), name));

  const double patch_voxels = product_of({network.patch.begin(), network.patch.end()});
  const double fitting = std::nearbyint(most / network.values * reference.batch);
  const double covering = std::nearbyint(voxels * covered / patch_voxels);
  const double batch = std::max(std::min(fitting, covering), static_cast<double>(least_batch));
  const std::size_t stages = network.topology.strides.size();
  NnUNetConfiguration made{
      .name = name,
      .spacing = spacing,
      .median_image_size = median,
      .patch_size = network.patch,
      .batch_size = static_cast<std::int64_t>(batch),
      .features_per_stage = std::move(network.features),
      .strides = std::move(network.topology.strides),
      .kernel_sizes = std::move(network.topology.kernel_sizes),
      .n_conv_per_stage = std::vector<std::int64_t>(stages, convolutions),
      .n_conv_per_stage_decoder = std::vector<std::int64_t>(stages - 1, convolutions)};
  made.reasons["patch_size"] =
      cuts == 0 ? "as large as the median image: the network sees all of it"
                : fmt::format(
                      "as much of the median image as {:.3g} GB allow at a batch of 2, in "
                      "its proportions ({} steps down from {})",
                      question.gpu_memory, cuts, fmt::join(first, "x"));
  made.reasons["batch_size"] =
      batch > std::min(fitting, covering) ? "the least: a batch needs two"
      : covering < fitting
          ? "a batch may show at most 5 % of the data set, or it is learnt by heart"
          : fmt::format("as many as {:.3g} GB allow", question.gpu_memory);
  made.reasons["strides"] = fmt::format(
      "{} stages: an axis is halved while 4 voxels are left, a coarse one only when the finer have "
      "come near to it, and its kernel is 1 until then",
      stages);
  return made;
}

}  // namespace headrace::inline v1::app
