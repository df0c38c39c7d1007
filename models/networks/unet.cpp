#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/resnet_encoder.h>
#include <headrace/models/networks/unet.h>
#include <headrace/models/networks/width.h>

#include <array>
#include <string>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

constexpr const char* unet_name = "Unet";

nn::Conv2dOptions conv3x3_options(std::int64_t in, std::int64_t out) {
  return nn::Conv2dOptions(in, out, 3).padding(1);
}

nn::Sequential conv_norm(std::int64_t in, std::int64_t out) {
  return nn::Sequential(nn::Conv2d(conv3x3_options(in, out).bias(false)), nn::BatchNorm2d(out));
}

struct BlockChannels {
  std::int64_t in;
  std::int64_t skip;  // of the encoder's map; 0 at full resolution, where it has none
  std::int64_t out;
};

// From the coarsest to the finest.
std::array<BlockChannels, 5> decoder_blocks(const std::array<std::int64_t, 5>& encoder,
                                            double width) {
  constexpr std::array<std::int64_t, 5> channels{256, 128, 64, 32, 16};
  std::array<BlockChannels, 5> blocks{};
  std::int64_t in = encoder.back();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t skip = i < 4 ? encoder[3 - i] : 0;
    blocks[i] = {.in = in, .skip = skip, .out = scaled_channels(channels[i], width)};
    in = blocks[i].out;
  }
  return blocks;
}

struct UnetDecoderBlock : nn::Module {
  explicit UnetDecoderBlock(const BlockChannels& channels)
      : conv1(register_module("conv1", conv_norm(channels.in + channels.skip, channels.out))),
        conv2(register_module("conv2", conv_norm(channels.out, channels.out))) {}

  // `skip` is undefined at full resolution.
  at::Tensor forward(const at::Tensor& coarse, const at::Tensor& skip) {
    at::Tensor maps = at::upsample_nearest2d(coarse, {2 * coarse.size(2), 2 * coarse.size(3)});
    if (skip.defined()) maps = at::cat({maps, skip}, 1);
    maps = conv1->forward(maps).relu_();  // without gradients the map before goes back
    return conv2->forward(maps).relu_();
  }

  nn::Sequential conv1;
  nn::Sequential conv2;
};

struct UnetDecoder : BlockModule {
  explicit UnetDecoder(const std::array<BlockChannels, 5>& channels)
      : blocks(register_module("blocks", nn::ModuleList())) {
    for (const BlockChannels& block : channels) {
      blocks->push_back(std::make_shared<UnetDecoderBlock>(block));
      add_block(block_name(blocks->size() - 1), {blocks->ptr(blocks->size() - 1)});
    }
    for (const auto& part : modules(false))
      if (auto* conv = part->as<nn::Conv2d>())
        nn::init::kaiming_uniform_(conv->weight, 0.0, torch::kFanIn, torch::kReLU);
  }

  at::Tensor forward(const std::array<at::Tensor, 5>& features) {
    at::Tensor maps = features.back();
    for (std::size_t i = 0; i < blocks->size(); ++i) {
      auto& block = blocks->at<UnetDecoderBlock>(i);
      const auto join = [&block](const at::Tensor& coarse, const at::Tensor& skip) {
        return block.forward(coarse, skip);
      };
      const auto enlarge = [&block](const at::Tensor& coarse) { return block.forward(coarse, {}); };
      maps = i < 4 ? run_block(block_name(i), join, std::move(maps), features[3 - i])
                   : run_block(block_name(i), enlarge, std::move(maps));
    }
    return maps;
  }

  static std::string block_name(std::size_t number) { return "blocks." + std::to_string(number); }

  nn::ModuleList blocks;
};

struct Unet : nn::Module {
  Unet(const ResNetEncoderOptions& encoder_options, std::int64_t classes)
      : in_channels(encoder_options.in_channels),
        encoder(register_module("encoder", std::make_shared<ResNetEncoder>(encoder_options))) {
    const auto blocks = decoder_blocks(encoder->channels(), encoder_options.width);
    decoder = register_module("decoder", std::make_shared<UnetDecoder>(blocks));
    const nn::Conv2d head(conv3x3_options(blocks.back().out, classes));
    nn::init::xavier_uniform_(head->weight);
    nn::init::zeros_(head->bias);
    segmentation_head = register_module("segmentation_head", nn::Sequential(head));
  }

  at::Tensor forward(const at::Tensor& images) {
    detail::check_images(unet_name, images,
                         {.channels = in_channels, .side_divisor = detail::coarsest_stride});
    return segmentation_head->forward(decoder->forward(encoder->features(images)));
  }

  std::int64_t in_channels;
  std::shared_ptr<ResNetEncoder> encoder;
  std::shared_ptr<UnetDecoder> decoder;
  nn::Sequential segmentation_head{nullptr};
};

ResNetEncoderOptions encoder_of(const UnetOptions& options) {
  detail::check_classes(unet_name, options.classes);
  return {.depth = options.encoder,
          .in_channels = options.in_channels,
          .width = options.width,
          .zero_init_last = false};
}

}  // namespace

std::unique_ptr<Network> make_unet(const UnetOptions& options) {
  return std::make_unique<ModuleNetwork<Unet>>(
      std::make_shared<Unet>(encoder_of(options), options.classes));
}

}  // namespace headrace::inline v1::models
