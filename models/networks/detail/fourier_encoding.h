#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>

namespace headrace::inline v1::models::detail {

/// Sines (even channels) and cosines (odd ones) of 16 wave lengths along y, 32 channels, and then
/// along x: `[1, 64, height, width]`, float or double as `options` say, made on their device
/// without a wait for it.
at::Tensor fourier_encoding(std::int64_t height, std::int64_t width,
                            const at::TensorOptions& options);

/// That encoding by a 1x1 convolution, `token_projection`, as something to add to maps. What it
/// starts from is kept for the last sides, and is no part of the state.
class PositionalEncoding : public torch::nn::Module {
 public:
  explicit PositionalEncoding(std::int64_t channels);

  /// `[1, channels, H, W]` for maps `[N, channels, H, W]`.
  at::Tensor forward(const at::Tensor& maps);

 private:
  bool fits(const at::Tensor& maps) const;

  torch::nn::Conv2d token_projection_{nullptr};
  at::Tensor encoding_;
};

}  // namespace headrace::inline v1::models::detail
