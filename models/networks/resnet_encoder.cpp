#include <headrace/engine/base/error.h>
#include <headrace/models/networks/resnet_encoder.h>
#include <headrace/models/networks/width.h>

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ops/max_pool2d.h>
#include <torch/nn/init.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

struct Depth {
  int depth;
  std::array<std::int64_t, 4> blocks;
  std::int64_t expansion;  // channels of a block for each of its planes
  bool bottleneck;         // blocks of three convolutions
};

constexpr std::array<Depth, 3> depths{
    {{18, {2, 2, 2, 2}, 1, false}, {34, {3, 4, 6, 3}, 1, false}, {50, {3, 4, 6, 3}, 4, true}}};

const Depth& depth_of(int depth) {
  const auto* found = std::ranges::find(depths, depth, &Depth::depth);
  if (found == depths.end())
    throw ConfigError("[ResNet] depth must be 18, 34 or 50, got " + std::to_string(depth));
  return *found;
}

// One of the four layers: residual blocks of two 3x3 convolutions, or of 1x1, 3x3 and 1x1 ones.
struct Layer {
  std::int64_t blocks;
  std::int64_t inner;     // channels between the convolutions
  std::int64_t channels;  // that a block gives
  std::int64_t stride;    // of the first block
  bool bottleneck;
  ResNetVariant variant;
};

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                       std::int64_t groups = 1) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel)
                        .stride(stride)
                        .padding(kernel / 2)
                        .groups(groups)
                        .bias(false));
}

// Weighs channels by what they all are on average.
class SqueezeExcite : public nn::Module {
 public:
  explicit SqueezeExcite(std::int64_t channels) {
    const std::int64_t squeezed = scaled_channels(channels, 1.0 / 16);
    fc1_ = register_module("fc1", nn::Conv2d(nn::Conv2dOptions(channels, squeezed, 1)));
    fc2_ = register_module("fc2", nn::Conv2d(nn::Conv2dOptions(squeezed, channels, 1)));
  }

  at::Tensor forward(const at::Tensor& maps) {
    const at::Tensor means = maps.mean({2, 3}, /*keepdim=*/true);
    return maps * fc2_(fc1_(means).relu_()).sigmoid_();
  }

 private:
  nn::Conv2d fc1_{nullptr};
  nn::Conv2d fc2_{nullptr};
};

// Convolutions, each with its norm, around which the input is added.
class ResNetBlock : public nn::Module {
 public:
  ResNetBlock(std::int64_t in, const Layer& layer, std::int64_t stride) {
    if (layer.bottleneck) {
      add(convolution(in, layer.inner, 1, 1));
      add(convolution(layer.inner, layer.inner, 3, stride, layer.variant.groups));
      add(convolution(layer.inner, layer.channels, 1, 1));
    } else {
      add(convolution(in, layer.inner, 3, stride));
      add(convolution(layer.inner, layer.inner, 3, 1));
    }
    if (layer.variant.squeeze_excite)
      squeeze_ = register_module(layer.variant.legacy ? "se_module" : "se",
                                 std::make_shared<SqueezeExcite>(layer.channels));
    if (stride != 1 || in != layer.channels)
      downsample_ =
          register_module("downsample", nn::Sequential(convolution(in, layer.channels, 1, stride),
                                                       nn::BatchNorm2d(layer.channels)));
  }

  at::Tensor forward(const at::Tensor& input) {
    at::Tensor maps = input;
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      if (i > 0) maps.relu_();
      maps = norms_[i](convolutions_[i](maps));
    }
    if (squeeze_) maps = squeeze_->forward(maps);
    const at::Tensor shortcut = downsample_.is_empty() ? input : downsample_->forward(input);
    return maps.add_(shortcut).relu_();
  }

  at::Tensor last_scale() const { return norms_.back()->weight; }

 private:
  void add(nn::Conv2d made) {
    const std::string number = std::to_string(convolutions_.size() + 1);
    const std::int64_t out = made->options.out_channels();
    convolutions_.push_back(register_module("conv" + number, std::move(made)));
    norms_.push_back(register_module("bn" + number, nn::BatchNorm2d(out)));
  }

  std::vector<nn::Conv2d> convolutions_;
  std::vector<nn::BatchNorm2d> norms_;
  std::shared_ptr<SqueezeExcite> squeeze_;
  nn::Sequential downsample_{nullptr};
};

nn::Sequential layer_of_blocks(std::int64_t in, const Layer& layer) {
  nn::Sequential blocks;
  for (std::int64_t i = 0; i < layer.blocks; ++i)
    blocks->push_back(std::make_shared<ResNetBlock>(i == 0 ? in : layer.channels, layer,
                                                    i == 0 ? layer.stride : 1));
  return blocks;
}

std::string layer_block_name(std::size_t layer, std::size_t number) {
  return "layer" + std::to_string(layer + 1) + '.' + std::to_string(number);
}

void initialise(nn::Module& encoder, bool zero_last) {
  for (const auto& part : encoder.modules(false)) {
    if (auto* conv = part->as<nn::Conv2d>())
      nn::init::kaiming_normal_(conv->weight, 0.0, torch::kFanOut, torch::kReLU);
    else if (auto* block = part->as<ResNetBlock>(); block != nullptr && zero_last)
      nn::init::zeros_(block->last_scale());
  }
}

void check_groups(const ResNetVariant& variant, const Depth& depth) {
  if (variant.groups < 1 || variant.group_width < 1)
    throw ConfigError("[ResNet] groups and their width must be at least 1, got " +
                      std::to_string(variant.groups) + " and " +
                      std::to_string(variant.group_width));
  if (depth.bottleneck || (variant.groups == 1 && variant.group_width == 64)) return;
  throw ConfigError(
      "[ResNet] groups and their width are those of blocks of three convolutions, "
      "depth 50, got depth " +
      std::to_string(depth.depth));
}

std::array<Layer, 4> layers_of(const ResNetEncoderOptions& options) {
  const Depth& depth = depth_of(options.depth);
  const ResNetVariant& variant = options.variant;
  check_groups(variant, depth);
  std::array<Layer, 4> layers{};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t planes = scaled_channels(std::int64_t{64} << i, options.width);
    layers[i] = {
        .blocks = depth.blocks[i],
        .inner = variant.groups * std::max<std::int64_t>(1, planes * variant.group_width / 64),
        .channels = planes * depth.expansion,
        .stride = i == 0 ? 1 : 2,
        .bottleneck = depth.bottleneck,
        .variant = variant};
  }
  return layers;
}

std::int64_t stem_channels(const ResNetEncoderOptions& options) {
  if (options.in_channels < 1)
    throw ConfigError("[ResNet] needs at least 1 channel, got " +
                      std::to_string(options.in_channels));
  return scaled_channels(64, options.width);
}

}  // namespace

ResNetEncoder::ResNetEncoder(const ResNetEncoderOptions& options)
    : channels_{stem_channels(options)}, legacy_pool_(options.variant.legacy) {
  nn::Module& stem = options.variant.legacy
                         ? *register_module("layer0", std::make_shared<nn::Module>("layer0"))
                         : *this;
  conv1_ = stem.register_module("conv1", convolution(options.in_channels, channels_[0], 7, 2));
  bn1_ = stem.register_module("bn1", nn::BatchNorm2d(channels_[0]));
  const std::array<Layer, 4> layers = layers_of(options);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers_[i] =
        register_module("layer" + std::to_string(i + 1), layer_of_blocks(channels_[i], layers[i]));
    channels_[i + 1] = layers[i].channels;
  }
  add_block("stem", {conv1_.ptr(), bn1_.ptr()});
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (std::size_t j = 0; j < layers_[i]->size(); ++j)
      add_block(layer_block_name(i, j), {layers_[i][j]});
  initialise(*this, options.zero_init_last);
}

std::array<at::Tensor, 5> ResNetEncoder::features(const at::Tensor& images) {
  std::array<at::Tensor, 5> maps;
  maps[0] = run_block(
      "stem", [this](const at::Tensor& x) { return bn1_(conv1_(x)).relu_(); }, images);
  at::Tensor last = legacy_pool_ ? at::max_pool2d(maps[0], 3, 2, 0, 1, /*ceil_mode=*/true)
                                 : at::max_pool2d(maps[0], 3, 2, 1);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (std::size_t j = 0; j < layers_[i]->size(); ++j)
      last = run_part(layer_block_name(i, j), layers_[i]->at<ResNetBlock>(j), std::move(last));
    maps[i + 1] = last;
  }
  return maps;
}

}  // namespace headrace::inline v1::models
