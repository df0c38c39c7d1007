#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>

namespace headrace::inline v1::models::detail {

/// Max pooling of `[N, C, D, H, W]` by two along each axis; what is over at an odd side's end is
/// left out. For the backward pass it keeps the places of the maxima and, unlike LibTorch's, not
/// its input; on a GPU it gives the same bits every time.
at::Tensor halved_volumes(const at::Tensor& maps);

/// Weight and bias of an instance norm.
struct NormWeights : torch::nn::Module {
  explicit NormWeights(std::int64_t channels);

  at::Tensor weight;
  at::Tensor bias;
};

struct ResidualBlock3dOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  double dropout = 0.0;  ///< share of maps, below 1
};

/// Of ResidualUNet3D: `[N, in, D, H, W]` to `[N, out, D, H, W]`. Dropout is a factor of the second
/// norm's weight and bias, drawn as `torch::nn::Dropout3d` draws.
struct ResidualBlock3d : torch::nn::Module {
  explicit ResidualBlock3d(const ResidualBlock3dOptions& options);

  at::Tensor forward(const at::Tensor& x);

  double dropout;
  torch::nn::Conv3d conv1;
  std::shared_ptr<NormWeights> norm1;
  torch::nn::Conv3d conv2;
  std::shared_ptr<NormWeights> norm2;
  torch::nn::Conv3d proj{nullptr};  ///< of the input, where channels change
};

}  // namespace headrace::inline v1::models::detail
