#include <headrace/models/networks/detail/edgenext_blocks.h>

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include <ATen/Functions.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr double deviation = .02;
constexpr double cut = 2.0;  // deviations

// By the inverse of the cumulative distribution.
void fill(at::Tensor weight) {
  const at::NoGradGuard no_gradient;
  const double share = std::erf(cut / std::numbers::sqrt2);
  weight.uniform_(-share, share).erfinv_().mul_(deviation * std::numbers::sqrt2);
  weight.clamp_(-cut * deviation, cut * deviation);
}

template <typename Layer>
void start(Layer* layer) {
  if (layer == nullptr) return;
  fill(layer->weight);
  if (layer->bias.defined()) torch::nn::init::zeros_(layer->bias);
}

}  // namespace

void start_truncated_normal(torch::nn::Module& module) {
  for (const auto& part : module.modules(false)) {
    start(part->as<torch::nn::Conv2d>());
    start(part->as<torch::nn::Linear>());
  }
}

namespace {

namespace nn = torch::nn;

constexpr std::int64_t expansion = 4;
constexpr double first_scale = 1e-6;

nn::Conv2d depthwise_convolution(std::int64_t channels, std::int64_t kernel) {
  return nn::Conv2d(
      nn::Conv2dOptions(channels, channels, kernel).padding(kernel / 2).groups(channels));
}

}  // namespace

at::Tensor drop_rows(const at::Tensor& branch, double rate, bool training) {
  if (!training || rate == 0.0) return branch;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(branch.dim()), 1);
  sizes[0] = branch.size(0);
  const double kept = 1.0 - rate;
  return branch * at::empty(sizes, branch.options()).bernoulli_(kept).div_(kept);
}

EdgeNeXtMlp::EdgeNeXtMlp(std::int64_t channels)
    : fc1_(register_module("fc1", nn::Linear(channels, expansion * channels))),
      fc2_(register_module("fc2", nn::Linear(expansion * channels, channels))) {}

at::Tensor EdgeNeXtMlp::forward(const at::Tensor& values) {
  return fc2_(at::gelu(fc1_(values)));
}

EdgeNeXtBlock::EdgeNeXtBlock(std::int64_t channels, double drop_path)
    : norm_(register_module("norm", layer_norm(channels))),
      mlp_(register_module("mlp", std::make_shared<EdgeNeXtMlp>(channels))),
      gamma_(register_parameter("gamma", at::full({channels}, first_scale))),
      drop_path_(drop_path) {}

at::Tensor EdgeNeXtBlock::mixed_channels(const at::Tensor& values) {
  return mlp_->forward(norm_(values)) * gamma_;
}

EdgeNeXtConvBlock::EdgeNeXtConvBlock(std::int64_t channels, std::int64_t kernel, double drop_path)
    : EdgeNeXtBlock(channels, drop_path),
      conv_dw_(register_module("conv_dw", depthwise_convolution(channels, kernel))) {}

at::Tensor EdgeNeXtConvBlock::forward(const at::Tensor& maps) {
  const at::Tensor branch = mixed_channels(conv_dw_(maps).permute({0, 2, 3, 1}));
  return maps + dropped(branch.permute({0, 3, 1, 2}));
}

EdgeNeXtSdtaBlock::EdgeNeXtSdtaBlock(const EdgeNeXtSdtaShape& shape, double drop_path)
    : EdgeNeXtBlock(shape.channels, drop_path),
      group_((shape.channels + shape.scales - 1) / shape.scales),
      convs_(register_module("convs", nn::ModuleList())),
      norm_xca_(register_module("norm_xca", layer_norm(shape.channels))),
      xca_(register_module(
          "xca", std::make_shared<CrossCovarianceAttention>(shape.channels, shape.heads))),
      gamma_xca_(register_parameter("gamma_xca", at::full({shape.channels}, first_scale))) {
  for (std::int64_t i = 1; i < shape.scales; ++i)
    convs_->push_back(depthwise_convolution(group_, 3));
  if (shape.positional)
    pos_embd_ = register_module("pos_embd", std::make_shared<PositionalEncoding>(shape.channels));
}

at::Tensor EdgeNeXtSdtaBlock::cascade(const at::Tensor& maps) {
  std::vector<at::Tensor> groups = maps.split(group_, 1);
  for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
    const at::Tensor input = i == 0 ? groups[i] : groups[i - 1] + groups[i];
    groups[i] = convs_->at<nn::Conv2dImpl>(i).forward(input);
  }
  return at::cat(groups, 1);
}

at::Tensor EdgeNeXtSdtaBlock::forward(const at::Tensor& maps) {
  at::Tensor branch = cascade(maps);
  if (pos_embd_) branch = branch + pos_embd_->forward(maps);
  const at::Tensor pixels = branch.permute({0, 2, 3, 1});
  at::Tensor tokens = pixels.flatten(1, 2);
  tokens = tokens + dropped(xca_->forward(norm_xca_(tokens)) * gamma_xca_);
  branch = mixed_channels(tokens).view(pixels.sizes()).permute({0, 3, 1, 2});
  return maps + dropped(branch);
}

}  // namespace headrace::inline v1::models::detail
