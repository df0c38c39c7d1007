#pragma once

#include <headrace/models/networks/nnunet_networks.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::test {

using models::NnUNetOptions;

/// A small network with filled weights, and what it gives.
struct Reference {
  const char* name;
  bool residual;
  NnUNetOptions options;
  std::vector<std::int64_t> sizes;
  std::uint64_t listing;  ///< hash of the lines "name sizes" of the parameters, in their order
  double kept;            ///< values that autograd keeps, for each voxel of the input
  /// Of each output: sum, sum of absolutes, first, middle, last value.
  std::vector<std::vector<double>> outputs;
  std::vector<std::pair<std::string, double>> gradients;  ///< norms
};

/// Parameters of a network of nnU-Net's plans.
struct Count {
  bool residual;
  std::int64_t dims;
  std::vector<std::int64_t> features;
  std::int64_t total;
  std::vector<std::int64_t> encoder_stages;
};

/// What the planner makes of a patch.
struct Planned {
  std::vector<std::int64_t> patch;
  std::vector<double> spacing;
  std::vector<std::int64_t> padded;
  std::vector<std::int64_t> features;
  std::vector<std::vector<std::int64_t>> strides;
  std::vector<std::vector<std::int64_t>> kernels;
};

#include "reference/nnunet_values.inc"

inline std::unique_ptr<models::Network> make_nnunet(bool residual, const NnUNetOptions& options) {
  return residual ? models::make_residual_encoder_unet(options)
                  : models::make_plain_conv_unet(options);
}

}  // namespace headrace::test
