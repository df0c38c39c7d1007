#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/normalization.h>

namespace headrace::inline v1::models::detail {

constexpr double layer_norm_eps = 1e-6;

/// Of the last axis, as timm configures it.
inline torch::nn::LayerNorm layer_norm(std::int64_t channels) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({channels}).eps(layer_norm_eps));
}

/// Layer norm over the channels of every pixel of `[N, C, H, W]`. The result lies in the
/// channels-last layout.
class LayerNorm2d : public torch::nn::LayerNormImpl {
 public:
  explicit LayerNorm2d(std::int64_t channels)
      : torch::nn::LayerNormImpl(torch::nn::LayerNormOptions({channels}).eps(layer_norm_eps)) {}

  at::Tensor forward(const at::Tensor& maps) {
    return torch::nn::LayerNormImpl::forward(maps.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
  }
};

}  // namespace headrace::inline v1::models::detail
