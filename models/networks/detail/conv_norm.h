#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>

namespace headrace::inline v1::models::detail {

struct ConvNormOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 1;  ///< odd
  std::int64_t dilation = 1;
  std::int64_t groups = 1;       ///< of the convolution
  std::int64_t norm_groups = 8;  ///< at most
};

/// A convolution with bias that keeps the maps' sides. Starts as LibTorch starts it.
torch::nn::Conv2d same_convolution(const ConvNormOptions& options);

/// A group norm of the most groups, at most `most`, that divide the channels and leave each group
/// two of them: a group of one channel of one pixel would lose its value.
torch::nn::GroupNorm group_norm(std::int64_t channels, std::int64_t most = 8);

/// Both, as `conv` and `norm`.
struct ConvNorm : torch::nn::Module {
  explicit ConvNorm(const ConvNormOptions& options);
  at::Tensor forward(const at::Tensor& maps);

  torch::nn::Conv2d conv;
  torch::nn::GroupNorm norm;
};

}  // namespace headrace::inline v1::models::detail
