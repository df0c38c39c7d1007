#pragma once

#include <headrace/models/networks/named_network.h>

#include <string>
#include <vector>

#include <ATen/Functions.h>

namespace headrace::test {

/// Every network of the table with every encoder, small where it can be.
inline std::vector<models::NetworkOptions> all_networks() {
  std::vector<models::NetworkOptions> all;
  for (const models::Task task : {models::Task::classification, models::Task::segmentation}) {
    for (const std::string& name : models::network_names(task)) {
      const bool scales = name != "efficient_glaucoma_cnn";
      std::vector<std::string> encoders = models::network_encoders(name);
      if (encoders.empty()) encoders.emplace_back();
      for (const std::string& encoder : encoders)
        all.push_back({.name = name, .width = scales ? .25 : 1.0, .encoder = encoder});
      if (name == "residual_unet3d") all.back().unet.blocks = 2;
    }
  }
  return all;
}

/// Without those that are planned for their images: nnunet_test.cpp looks at the steps of these,
/// whose coarser heads learn by `outputs()` alone.
inline std::vector<models::NetworkOptions> networks_of_any_side() {
  std::vector<models::NetworkOptions> all = all_networks();
  std::erase_if(all, [](const models::NetworkOptions& options) {
    return options.name == "plain_conv_unet" || options.name == "residual_encoder_unet";
  });
  return all;
}

/// Sizes of a batch of two for the network; volumes are smaller than pictures.
inline std::vector<std::int64_t> input_sizes(const models::NetworkOptions& options,
                                             std::int64_t side) {
  const models::NetworkTraits traits = models::network_traits(options);
  if (traits.takes_vectors) return {2, options.in_channels};
  if (!traits.takes_pictures) return {2, options.in_channels, side / 4, side / 4, side / 2};
  return {2, options.in_channels, side, side};
}

/// With few channels, for convolutions of volumes in bfloat16, which are slow on a CPU.
inline models::NetworkOptions thin_unet3d() {
  return {.name = "residual_unet3d", .unet = {.base = 2, .blocks = 2}};
}

/// So that a step makes none that stay.
inline void give_gradients(const models::Network& network) {
  for (const models::NamedTensor& item : network.parameters())
    item.tensor.mutable_grad() = at::zeros_like(item.tensor);
}

}  // namespace headrace::test
