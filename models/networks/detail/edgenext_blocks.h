#pragma once

#include <headrace/models/networks/detail/edgenext_attention.h>

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
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

/// Starts all convolutions and linear layers below `module` anew, as timm does: weights from a
/// normal distribution of deviation 0.02, cut at two of it, from the default CPU generator of
/// LibTorch, biases as zero.
void start_truncated_normal(torch::nn::Module& module);

/// A branch's result with single rows left out at that rate in training, and the others larger in
/// turn (stochastic depth by sample). Draws from LibTorch's default generator of the device, unless
/// nothing can be left out.
at::Tensor drop_rows(const at::Tensor& branch, double rate, bool training);

/// Two linear layers, `fc1` and `fc2`, around GELU, with four times the channels between them.
/// Channels are the last axis.
class EdgeNeXtMlp : public torch::nn::Module {
 public:
  explicit EdgeNeXtMlp(std::int64_t channels);

  at::Tensor forward(const at::Tensor& values);

 private:
  torch::nn::Linear fc1_{nullptr};
  torch::nn::Linear fc2_{nullptr};
};

/// A block of EdgeNeXt, maps `[N, C, H, W]` to the same. Its last part is `norm`, `mlp` and
/// `gamma`, which scales the branch.
class EdgeNeXtBlock : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& maps) = 0;

 protected:
  EdgeNeXtBlock(std::int64_t channels, double drop_path);

  /// The last part of `values`, `[N, ..., C]`.
  at::Tensor mixed_channels(const at::Tensor& values);
  at::Tensor dropped(const at::Tensor& branch) const {
    return drop_rows(branch, drop_path_, is_training());
  }

 private:
  torch::nn::LayerNorm norm_{nullptr};
  std::shared_ptr<EdgeNeXtMlp> mlp_;
  at::Tensor gamma_;
  double drop_path_;
};

/// Around a depthwise convolution of that kernel, `conv_dw`.
class EdgeNeXtConvBlock final : public EdgeNeXtBlock {
 public:
  EdgeNeXtConvBlock(std::int64_t channels, std::int64_t kernel, double drop_path);

  at::Tensor forward(const at::Tensor& maps) override;

 private:
  torch::nn::Conv2d conv_dw_{nullptr};
};

struct EdgeNeXtSdtaShape {
  std::int64_t channels;
  std::int64_t heads;
  std::int64_t scales;      ///< groups of channels, at least two
  bool positional = false;  ///< adds the positional encoding, `pos_embd`
};

/// Split depth-wise transpose attention: depthwise convolutions of groups of channels in cascade,
/// `convs`, and attention across channels, `norm_xca`, `xca`, `gamma_xca`.
class EdgeNeXtSdtaBlock final : public EdgeNeXtBlock {
 public:
  EdgeNeXtSdtaBlock(const EdgeNeXtSdtaShape& shape, double drop_path);

  at::Tensor forward(const at::Tensor& maps) override;

 private:
  at::Tensor cascade(const at::Tensor& maps);

  std::int64_t group_;  // channels; the last group may be smaller
  torch::nn::ModuleList convs_;
  std::shared_ptr<PositionalEncoding> pos_embd_;
  torch::nn::LayerNorm norm_xca_{nullptr};
  std::shared_ptr<CrossCovarianceAttention> xca_;
  at::Tensor gamma_xca_;
};

}  // namespace headrace::inline v1::models::detail
