#include <headrace/engine/base/error.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/conv_norm.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/models/networks/module_network.h>

#include <sstream>
#include <utility>

#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

constexpr std::int64_t smallest_image_side = 16;

struct GlaucomaStem : nn::Module {
  explicit GlaucomaStem(std::int64_t channels)
      : conv(register_module("conv",
                             detail::same_convolution({.in = channels, .out = 32, .kernel = 3}))),
        norm(register_module("norm", nn::BatchNorm2d(32))) {}

  at::Tensor forward(const at::Tensor& input) {
    return at::max_pool2d(norm(conv(input)).relu_(), 2);
  }

  nn::Conv2d conv;
  nn::BatchNorm2d norm;
};

struct GlaucomaBlock : nn::Module {
  GlaucomaBlock(std::int64_t in, std::int64_t out, bool drops)
      : conv1(register_module("conv1",
                              detail::same_convolution({.in = in, .out = out, .kernel = 3}))),
        norm1(register_module("norm1", nn::BatchNorm2d(out))),
        conv2(register_module("conv2",
                              detail::same_convolution({.in = out, .out = out, .kernel = 3}))),
        norm2(register_module("norm2", nn::BatchNorm2d(out))),
        dropout(register_module("dropout", nn::Dropout2d(drops ? 0.25 : 0.0))) {}

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor inner = norm1(conv1(input)).relu_();
    return dropout(at::max_pool2d(norm2(conv2(inner)).relu_(), 2));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d norm1;
  nn::Conv2d conv2;
  nn::BatchNorm2d norm2;
  nn::Dropout2d dropout;
};

struct GlaucomaHead : nn::Module {
  GlaucomaHead(std::int64_t classes, bool drops)
      : dropout1(register_module("dropout1", nn::Dropout(drops ? 0.5 : 0.0))),
        linear1(register_module("linear1", nn::Linear(256, 512))),
        norm(register_module("norm", nn::BatchNorm1d(512))),
        dropout2(register_module("dropout2", nn::Dropout(drops ? 0.3 : 0.0))),
        linear2(register_module("linear2", nn::Linear(512, classes))) {}

  at::Tensor forward(const at::Tensor& pooled) {
    return linear2(dropout2(norm(linear1(dropout1(pooled)).relu_())));
  }

  nn::Dropout dropout1;
  nn::Linear linear1;
  nn::BatchNorm1d norm;
  nn::Dropout dropout2;
  nn::Linear linear2;
};

struct GlaucomaModule : BlockModule {
  explicit GlaucomaModule(const EfficientGlaucomaCnnOptions& options)
      : channels(options.channels),
        stem(register_module("stem", std::make_shared<GlaucomaStem>(options.channels))),
        block1(register_module("block1", std::make_shared<GlaucomaBlock>(32, 64, options.dropout))),
        block2(
            register_module("block2", std::make_shared<GlaucomaBlock>(64, 128, options.dropout))),
        block3(
            register_module("block3", std::make_shared<GlaucomaBlock>(128, 256, options.dropout))),
        head(register_module("head",
                             std::make_shared<GlaucomaHead>(options.classes, options.dropout))) {
    add_block("stem", {stem});
    add_block("block1", {block1});
    add_block("block2", {block2});
    add_block("block3", {block3});
  }

  at::Tensor forward(const at::Tensor& images) {
    check(images);
    at::Tensor maps = run_part("stem", *stem, images);
    maps = run_part("block1", *block1, std::move(maps));
    maps = run_part("block2", *block2, std::move(maps));
    maps = run_part("block3", *block3, std::move(maps));
    return head->forward(at::adaptive_avg_pool2d(maps, {1, 1}).flatten(1));
  }

  void check(const at::Tensor& images) const {
    if (images.dim() == 4 && images.size(1) == channels && images.size(2) >= smallest_image_side &&
        images.size(3) >= smallest_image_side)
      return;
    std::ostringstream message;
    message << "[EfficientGlaucomaCNN] images must be [N, " << channels
            << ", H, W] with H and W at least " << smallest_image_side << ", got "
            << images.sizes();
    throw DataError(message.str());
  }

  std::int64_t channels;
  std::shared_ptr<GlaucomaStem> stem;
  std::shared_ptr<GlaucomaBlock> block1;
  std::shared_ptr<GlaucomaBlock> block2;
  std::shared_ptr<GlaucomaBlock> block3;
  std::shared_ptr<GlaucomaHead> head;
};

void initialise(GlaucomaModule& module) {
  for (const auto& part : module.modules(false)) {
    if (auto* conv = part->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut, torch::kReLU);
      nn::init::zeros_(conv->bias);
    } else if (auto* linear = part->as<nn::Linear>()) {
      nn::init::normal_(linear->weight, 0.0, 0.01);
      nn::init::zeros_(linear->bias);
    }
  }
}

}  // namespace

std::unique_ptr<Network> make_efficient_glaucoma_cnn(const EfficientGlaucomaCnnOptions& options) {
  if (options.channels < 1 || options.classes < 2) {
    std::ostringstream message;
    message << "[EfficientGlaucomaCNN] needs at least 1 channel and 2 classes, got "
            << options.channels << " and " << options.classes;
    throw ConfigError(message.str());
  }
  auto module = std::make_shared<GlaucomaModule>(options);
  initialise(*module);
  return std::make_unique<ModuleNetwork<GlaucomaModule>>(std::move(module));
}

}  // namespace headrace::inline v1::models
