#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/architecture_options.h>
#include <headrace/models/networks/classifier_head.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/weight_names.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::models {

/// What a network by name is made for.
enum class Task {
  classification,  ///< images, or vectors, to logits `[N, classes]`
  segmentation,    ///< images to logits of their sides, `[N, classes, ...]`
};

/// A network by its name and shape. What a network does not have, such as an encoder, stays as it
/// is.
struct NetworkOptions {
  std::string name = {};         ///< one of `network_names`
  std::int64_t in_channels = 3;  ///< of networks for vectors, their length
  std::int64_t classes = 2;
  double width = 1.0;           ///< factor of all channel counts, see `scaled_channels`
  std::string encoder = {};     ///< one of `network_encoders`, default the first
  HeadOptions head = {};        ///< of ResNets for classification
  MixtureOptions mixture = {};  ///< of networks with mixtures of experts
  Unet3dOptions unet = {};      ///< of `residual_unet3d`; `width` is a factor of its base
  /// Sides of the images, for networks that are planned for them (nnU-Net's); two or three.
  std::vector<std::int64_t> sides = {256, 256};
  /// Distance of neighbouring voxels along each of these sides, for the same networks; empty: the
  /// same along all.
  std::vector<double> spacing = {};
};

/// Means and deviations by channel of what a network's public weights were trained on, for pixels
/// from 0 to 1; empty where there are none.
struct PretrainingStatistics {
  std::vector<double> mean = {};
  std::vector<double> stddev = {};
};

/// What is known of a network before it is made.
struct NetworkTraits {
  WeightNames weights = {};
  bool takes_vectors = false;   ///< inputs are `[N, in_channels]`, no images
  bool takes_volumes = false;   ///< where `sides` are three, inputs are `[N, in_channels, D, H, W]`
  bool takes_pictures = true;   ///< else volumes alone, whatever `sides` are
  std::int64_t least_side = 1;  ///< of an image or a volume
  std::int64_t least_longest_side = 1;  ///< of a volume, one side at least
  std::vector<std::int64_t> side_divisors = {
      1};  ///< of an image's sides; one for all, or one an axis
  PretrainingStatistics statistics = {};
};

/// The names of the networks for a task.
HEADRACE_API std::vector<std::string> network_names(Task task);

/// The encoders that a network may have; empty where it has no choice. Throws `ConfigError` for an
/// unknown name.
HEADRACE_API std::vector<std::string> network_encoders(const std::string& name);

/// A network with fresh weights from the default CPU generator of LibTorch. Throws `ConfigError`
/// for an unknown name, with the known and the nearest, and for options that the network does not
/// take.
HEADRACE_API std::unique_ptr<Network> make_network(const NetworkOptions& options);

/// Throws `ConfigError` for an unknown name or encoder, for a width factor, a head, a mixture or a
/// shape of a U-Net where there is none, and for sides that no network is planned for.
HEADRACE_API NetworkTraits network_traits(const NetworkOptions& options);

}  // namespace headrace::inline v1::models
