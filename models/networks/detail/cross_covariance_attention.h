#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
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

}  // namespace headrace::inline v1::models::detail
