#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/resnet_variant.h>

#include <array>
#include <cstdint>
#include <vector>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

namespace headrace::inline v1::models {

struct ResNetEncoderOptions {
  int depth = 50;  ///< 18, 34 or 50
  std::int64_t in_channels = 3;
  double width = 1.0;          ///< factor of all channel counts, see `scaled_channels`
  bool zero_init_last = true;  ///< residual branches start as zero: weights of their last norm
  ResNetVariant variant = {};
};

/// ResNet (He et al., arXiv 1512.03385) without its classifier, with the stride in the 3x3
/// convolution as in timm and torchvision, and with their names: `conv1`, `bn1`,
/// `layer1.0.conv1`, `layer1.0.se.fc1`, `layer2.0.downsample.0`. Its blocks: `stem`, which is
/// `conv1` and `bn1`, and each residual block, `layer1.0`.
///
/// Convolutions start from Kaiming's normal distribution (fan out), norms as the identity, from the
/// default CPU generator of LibTorch. The constructor throws `ConfigError` for options that make no
/// network.
class HEADRACE_API ResNetEncoder : public BlockModule {
 public:
  explicit ResNetEncoder(const ResNetEncoderOptions& options);

  /// Maps at strides 2, 4, 8, 16 and 32 of images `[N, in_channels, H, W]`.
  std::array<at::Tensor, 5> features(const at::Tensor& images);

  /// Channels of those maps.
  const std::array<std::int64_t, 5>& channels() const { return channels_; }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::array<torch::nn::Sequential, 4> layers_;
  std::array<std::int64_t, 5> channels_;
  bool legacy_pool_;
};

}  // namespace headrace::inline v1::models
