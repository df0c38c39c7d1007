#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models::detail {

/// Attention of channels to channels (XCiT, arXiv 2106.09681), `[N, tokens, channels]` to the same,
/// with timm's names: `temperature`, `qkv`, `proj`. Queries and keys are of length 1 along the
/// tokens, so the cost is linear in these.
class CrossCovarianceAttention : public torch::nn::Module {
 public:
  /// `channels` is a multiple of `heads`.
  CrossCovarianceAttention(std::int64_t channels, std::int64_t heads);

  at::Tensor forward(const at::Tensor& tokens);

 private:
  std::int64_t heads_;
  at::Tensor temperature_;
  torch::nn::Linear qkv_{nullptr};
  torch::nn::Linear proj_{nullptr};
};

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
