#include <headrace/engine/base/error.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/conv_norm.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/models/networks/module_network.h>

#include <sstream>
#include <utility>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

constexpr std::int64_t pooled_mels = 16;

// Along the mel axis alone.
at::Tensor halved(const at::Tensor& maps) {
  return at::max_pool2d(maps, {2, 1});
}

struct LeakModule : BlockModule {
  explicit LeakModule(const LeakCnnOptions& options)
      : conv1(
            register_module("conv1", detail::same_convolution({.in = 1, .out = 32, .kernel = 3}))),
        conv2(
            register_module("conv2", detail::same_convolution({.in = 32, .out = 64, .kernel = 3}))),
        conv3(register_module("conv3",
                              detail::same_convolution({.in = 64, .out = 128, .kernel = 3}))),
        dropout(register_module("dropout", nn::Dropout(options.dropout ? 0.25 : 0.0))),
        linear(register_module("linear", nn::Linear(128 * pooled_mels, 256))),
        class_head(register_module("class_head", nn::Linear(256, options.classes))),
        leak_head(register_module("leak_head", nn::Linear(256, 1))) {
    add_block("conv1", {conv1.ptr()});
    add_block("conv2", {conv2.ptr()});
    add_block("conv3", {conv3.ptr()});
  }

  at::Tensor forward(const at::Tensor& segments) {
    check(segments);
    at::Tensor maps = run_block(
        "conv1", [this](const at::Tensor& x) { return conv1(x).relu_(); }, segments);
    maps = run_block(
        "conv2", [this](const at::Tensor& x) { return halved(conv2(x).relu_()); }, std::move(maps));
    maps = run_block(
        "conv3", [this](const at::Tensor& x) { return halved(conv3(x).relu_()); }, std::move(maps));
    const at::Tensor pooled = at::adaptive_avg_pool2d(maps, {pooled_mels, 1}).flatten(1);
    const at::Tensor features = linear(dropout(pooled)).relu_();
    return at::cat({class_head(features), leak_head(features)}, 1);
  }

  static void check(const at::Tensor& segments) {
    if (segments.dim() == 4 && segments.size(1) == 1 && segments.size(2) >= leak_cnn_mels &&
        segments.size(3) >= 1)
      return;
    std::ostringstream message;
    message << "[LeakCNN] segments must be [N, 1, mels, frames] with at least " << leak_cnn_mels
            << " mels and a frame, got " << segments.sizes();
    throw DataError(message.str());
  }

  nn::Conv2d conv1;
  nn::Conv2d conv2;
  nn::Conv2d conv3;
  nn::Dropout dropout;
  nn::Linear linear;
  nn::Linear class_head;
  nn::Linear leak_head;
};

void initialise(LeakModule& module) {
  for (const auto& part : module.modules(false)) {
    if (auto* conv = part->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanIn, torch::kReLU);
      nn::init::zeros_(conv->bias);
    } else if (auto* linear = part->as<nn::Linear>()) {
      nn::init::kaiming_normal_(linear->weight, 0.0, torch::kFanIn, torch::kReLU);
      nn::init::zeros_(linear->bias);
    }
  }
}

}  // namespace

std::unique_ptr<Network> make_leak_cnn(const LeakCnnOptions& options) {
  if (options.classes < 2)
    throw ConfigError("[LeakCNN] needs at least 2 classes, got " + std::to_string(options.classes));
  auto module = std::make_shared<LeakModule>(options);
  initialise(*module);
  return std::make_unique<ModuleNetwork<LeakModule>>(std::move(module));
}

}  // namespace headrace::inline v1::models
