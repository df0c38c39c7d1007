#include <headrace/models/networks/detail/nnunet_blocks.h>

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
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

namespace {

std::string stage_name(std::size_t stage) {
  return "stages." + std::to_string(stage);
}

}  // namespace

NnUNetDecoder::NnUNetDecoder(const NnUNetShape& shape)
    : stages(register_module("stages", std::make_shared<PartList<ConvStack>>())),
      transpconvs(register_module("transpconvs", std::make_shared<PartList<UpConv>>())),
      seg_layers(register_module("seg_layers", std::make_shared<PartList<Conv>>())) {
  const Axes ones(static_cast<std::size_t>(shape.dims), 1);
  for (std::size_t index = shape.stages.size() - 1; index-- > 0;) {
    const NnUNetStage& stage = shape.stages[index];
    const NnUNetStage& below = shape.stages[index + 1];
    transpconvs->add(std::make_shared<UpConv>(below.features, stage.features, below.stride));
    stages->add(
        std::make_shared<ConvStack>(stage.decoder_convs, ConvOptions{.in = 2 * stage.features,
                                                                     .out = stage.features,
                                                                     .kernel = stage.kernel,
                                                                     .stride = ones}));
    add_block(stage_name(stages->parts.size() - 1),
              {transpconvs->parts.back(), stages->parts.back()});
    seg_layers->add(std::make_shared<Conv>(
        ConvOptions{.in = stage.features, .out = shape.classes, .kernel = ones, .stride = ones}));
  }
}

at::Tensor NnUNetDecoder::join(std::size_t stage, at::Tensor coarse, at::Tensor skip) const {
  coarse = transpconvs->parts[stage]->forward(coarse);
  at::Tensor joined = at::cat({coarse, skip}, 1);
  coarse.reset();
  skip.reset();
  return stages->parts[stage]->forward(std::move(joined));
}

std::vector<at::Tensor> NnUNetDecoder::forward(std::vector<at::Tensor> skips, bool deep) const {
  std::vector<at::Tensor> logits;
  at::Tensor x = std::move(skips.back());
  skips.pop_back();
  for (std::size_t stage = 0; stage < stages->parts.size(); ++stage) {
    at::Tensor skip = std::move(skips.back());
    skips.pop_back();
    x = run_block(
        stage_name(stage),
        [this, stage](at::Tensor coarse, at::Tensor finer) {
          return join(stage, std::move(coarse), std::move(finer));
        },
        std::move(x), std::move(skip));
    if (deep || skips.empty()) logits.push_back(seg_layers->parts[stage]->forward(x));
  }
  std::ranges::reverse(logits);
  return logits;
}

}  // namespace headrace::inline v1::models::detail
