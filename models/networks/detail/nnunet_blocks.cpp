#include <headrace/models/networks/detail/nnunet_blocks.h>

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/conv_transpose3d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr double slope = 0.01;
constexpr double norm_epsilon = 1e-5;

// [first, second, kernel...], drawn for a leaky ReLU behind it.
at::Tensor drawn_weight(std::int64_t first, std::int64_t second, const Axes& kernel) {
  Axes sizes = {first, second};
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  return torch::nn::init::kaiming_normal_(at::empty(sizes), slope);
}

Axes same_padding(const Axes& kernel) {
  Axes padding;
  for (const std::int64_t side : kernel)
    padding.push_back((side - 1) / 2);
  return padding;
}

}  // namespace

Conv::Conv(const ConvOptions& options)
    : stride(options.stride),
      padding(same_padding(options.kernel)),
      weight(register_parameter("weight", drawn_weight(options.out, options.in, options.kernel))) {
  if (options.bias) bias = register_parameter("bias", at::zeros({options.out}));
}

at::Tensor Conv::forward(const at::Tensor& input) const {
  return stride.size() == 2 ? at::conv2d(input, weight, bias, stride, padding)
                            : at::conv3d(input, weight, bias, stride, padding);
}

UpConv::UpConv(std::int64_t in, std::int64_t out, Axes kernel)
    : stride(std::move(kernel)),
      weight(register_parameter("weight", drawn_weight(in, out, stride))),
      bias(register_parameter("bias", at::zeros({out}))) {}

at::Tensor UpConv::forward(const at::Tensor& input) const {
  return stride.size() == 2 ? at::conv_transpose2d(input, weight, bias, stride)
                            : at::conv_transpose3d(input, weight, bias, stride);
}

InstanceNorm::InstanceNorm(std::int64_t features)
    : weight(register_parameter("weight", at::ones({features}))),
      bias(register_parameter("bias", at::zeros({features}))) {}

// What at::instance_norm does, but that the activation comes before the maps get their shape back:
// in place on a view, its gradient would copy each map twice.
at::Tensor InstanceNorm::forward(const at::Tensor& input, bool activation) const {
  const std::int64_t rows = input.size(0);
  Axes sizes = input.sizes().vec();
  sizes[1] *= rows;
  sizes[0] = 1;
  at::Tensor maps = at::batch_norm(
      input.contiguous().view(sizes), weight.repeat({rows}), bias.repeat({rows}),
      /*running_mean=*/{}, /*running_var=*/{}, /*training=*/true, /*momentum=*/0.0, norm_epsilon,
      /*cudnn_enabled=*/true);
  if (activation) maps = activate(std::move(maps));
  return maps.view(input.sizes());
}

ConvBlock::ConvBlock(const ConvOptions& options)
    : activation(options.activation),
      conv(register_module("conv", std::make_shared<Conv>(options))),
      norm(register_module("norm", std::make_shared<InstanceNorm>(options.out))) {}

at::Tensor ConvBlock::forward(at::Tensor x) const {
  x = conv->forward(x);
  return norm->forward(x, activation);
}

ConvStack::ConvStack(std::int64_t blocks, const ConvOptions& first)
    : convs(register_module("convs", std::make_shared<PartList<ConvBlock>>())) {
  ConvOptions options = first;
  for (std::int64_t block = 0; block < blocks; ++block) {
    convs->add(std::make_shared<ConvBlock>(options));
    options.in = first.out;
    options.stride.assign(first.stride.size(), 1);
  }
}

at::Tensor ConvStack::forward(at::Tensor x) const {
  for (const auto& block : convs->parts)
    x = block->forward(std::move(x));
  return x;
}

at::Tensor average_pool(const at::Tensor& input, const Axes& stride) {
  return stride.size() == 2 ? at::avg_pool2d(input, stride, stride)
                            : at::avg_pool3d(input, stride, stride);
}

at::Tensor activate(at::Tensor x) {
  return at::leaky_relu_(x, slope);
}

}  // namespace headrace::inline v1::models::detail
