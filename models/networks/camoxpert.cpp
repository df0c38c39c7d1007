#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/camoxpert.h>
#include <headrace/models/networks/detail/conv_norm.h>
#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/detail/mixture_parts.h>
#include <headrace/models/networks/detail/part_list.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/width.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>
#include <torch/nn/modules/container/modulelist.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;
using detail::ConvNorm;
using Channels = std::array<std::int64_t, 4>;

constexpr const char* camoxpert_name = "camoxpert";
constexpr double largest_logit = 15.0;

constexpr std::array<detail::ExpertMaker, 7> expert_kinds{
    detail::texture_expert, detail::linear_attention_expert,
    detail::hybrid_expert,  detail::frequency_expert,
    detail::edge_expert,    detail::context_expert,
    detail::contrast_expert};

// Weighs channels by what they are on average, then pixels by what is around them.
struct Attention : nn::Module {
  explicit Attention(std::int64_t channels) {
    const std::int64_t few = std::max<std::int64_t>(1, channels / 8);
    reduce = register_module("reduce", detail::same_convolution({.in = channels, .out = few}));
    expand = register_module("expand", detail::same_convolution({.in = few, .out = channels}));
    spatial = register_module("spatial",
                              detail::same_convolution({.in = channels, .out = 1, .kernel = 7}));
  }

  at::Tensor forward(at::Tensor maps) {
    const at::Tensor means = maps.mean({2, 3}, /*keepdim=*/true);
    maps = maps * expand(reduce(means).relu_()).sigmoid_();
    return maps * spatial(maps).sigmoid_();
  }

  nn::Conv2d reduce{nullptr};
  nn::Conv2d expand{nullptr};
  nn::Conv2d spatial{nullptr};
};

struct Level : BlockModule {
  Level(std::int64_t channels, const MixtureOptions& mixture)
      : attention(register_module("attention", std::make_shared<Attention>(channels))),
        moe(register_module("moe", detail::make_mixture(channels, mixture, expert_kinds))) {
    add_block("attention", {attention});
  }

  Mixed forward(at::Tensor maps) {
    maps = run_part("attention", *attention, std::move(maps));
    Mixed mixed = moe->forward(maps);
    mixed.maps = mixed.maps + maps;
    return mixed;
  }

  std::shared_ptr<Attention> attention;
  std::shared_ptr<ExpertMixture> moe;
};

struct CamoxpertDecoderBlock : nn::Module {
  CamoxpertDecoderBlock(std::int64_t in, std::int64_t out)
      : conv1(register_module("conv1", std::make_shared<ConvNorm>(detail::ConvNormOptions{
                                           .in = in, .out = out, .kernel = 3}))),
        conv2(register_module("conv2", std::make_shared<ConvNorm>(detail::ConvNormOptions{
                                           .in = out, .out = out, .kernel = 3}))) {}

  // `skip` is undefined for the last.
  at::Tensor forward(at::Tensor maps, const at::Tensor& skip) {
    const std::array<std::int64_t, 2> sides{2 * maps.size(2), 2 * maps.size(3)};
    maps = detail::resized(maps, sides);
    if (skip.defined()) maps = at::cat({maps, skip}, 1);
    maps = conv1->forward(maps).relu_();
    return conv2->forward(maps).relu_();
  }

  std::shared_ptr<ConvNorm> conv1;
  std::shared_ptr<ConvNorm> conv2;
};

struct CamoxpertDecoder : BlockModule {
  CamoxpertDecoder(const Channels& channels, std::int64_t last)
      : blocks(register_module("blocks",
                               std::make_shared<detail::PartList<CamoxpertDecoderBlock>>())) {
    for (std::size_t i = 3; i > 0; --i)
      blocks->add(
          std::make_shared<CamoxpertDecoderBlock>(channels[i] + channels[i - 1], channels[i - 1]));
    blocks->add(std::make_shared<CamoxpertDecoderBlock>(channels[0], last));
    for (std::size_t i = 0; i < blocks->parts.size(); ++i)
      add_block(block_name(i), {blocks->parts[i]});
  }

  // Of each block its maps, the coarsest first.
  std::vector<at::Tensor> forward(const std::array<Mixed, 4>& levels) {
    std::vector<at::Tensor> made;
    at::Tensor maps = levels.back().maps;
    for (std::size_t i = 0; i < blocks->parts.size(); ++i) {
      auto& block = *blocks->parts[i];
      const auto join = [&block](at::Tensor coarse, const at::Tensor& skip) {
        return block.forward(std::move(coarse), skip);
      };
      const auto enlarge = [&block](at::Tensor coarse) {
        return block.forward(std::move(coarse), {});
      };
      maps = i < 3 ? run_block(block_name(i), join, std::move(maps), levels[2 - i].maps)
                   : run_block(block_name(i), enlarge, std::move(maps));
      made.push_back(maps);
    }
    return made;
  }

  static std::string block_name(std::size_t number) { return "blocks." + std::to_string(number); }

  std::shared_ptr<detail::PartList<CamoxpertDecoderBlock>> blocks;
};

struct CamoxpertHead : nn::Module {
  CamoxpertHead(std::int64_t in, std::int64_t inner, std::int64_t classes)
      : hidden(register_module("hidden", std::make_shared<ConvNorm>(detail::ConvNormOptions{
                                             .in = in, .out = inner, .kernel = 3}))),
        logits(register_module("logits", detail::same_convolution({.in = inner, .out = classes}))) {
  }

  at::Tensor forward(at::Tensor maps, at::IntArrayRef sides) {
    maps = detail::resized(maps, sides);
    return logits(hidden->forward(maps).relu_()).clamp(-largest_logit, largest_logit);
  }

  std::shared_ptr<ConvNorm> hidden;
  nn::Conv2d logits;
};

struct CamoXpert : BlockModule {
  explicit CamoXpert(const CamoXpertOptions& options)
      : in_channels(options.in_channels),
        balance(options.mixture.balance),
        backbone(
            register_module("backbone", std::make_shared<EdgeNeXtEncoder>(EdgeNeXtEncoderOptions{
                                            .size = options.encoder,
                                            .in_channels = options.in_channels,
                                            .width = options.width}))),
        levels(register_module("levels", std::make_shared<detail::PartList<Level>>())) {
    const Channels& channels = backbone->channels();
    for (const std::int64_t count : channels)
      levels->add(std::make_shared<Level>(count, options.mixture));
    const std::int64_t last = scaled_channels(64, options.width);
    decoder = register_module("decoder", std::make_shared<CamoxpertDecoder>(channels, last));
    if (options.mixture.deep_supervision) {
      side = register_module("side", nn::ModuleList());
      for (std::size_t i = 3; i-- > 0;)
        side->push_back(detail::same_convolution({.in = channels[i], .out = options.classes}));
    }
    head = register_module("head", std::make_shared<CamoxpertHead>(
                                       last, scaled_channels(32, options.width), options.classes));
    add_block("head", {head});
  }

  at::Tensor forward(const at::Tensor& images) { return run(images, false).main; }
  Output outputs(const at::Tensor& images) { return run(images, true); }

  // `all`: also what only training looks at.
  Output run(const at::Tensor& images, bool all) {
    detail::check_images(camoxpert_name, images,
                         {.channels = in_channels, .side_divisor = detail::coarsest_stride});
    std::array<at::Tensor, 4> features = backbone->features(images);
    std::array<Mixed, 4> mixed;
    for (std::size_t i = 0; i < mixed.size(); ++i)
      mixed[i] = levels->parts[i]->forward(std::move(features[i]));
    std::vector<at::Tensor> maps = decoder->forward(mixed);
    Output output =
        all ? detail::training_outputs(side, maps, {mixed.begin(), mixed.end()}, balance)
            : Output{};
    at::Tensor last = std::move(maps.back());
    mixed = {};
    maps.clear();
    const std::array<std::int64_t, 2> sides{images.size(2), images.size(3)};
    output.main = run_block(
        "head", [this, sides](at::Tensor x) { return head->forward(std::move(x), sides); },
        std::move(last));
    return output;
  }

  std::int64_t in_channels;
  double balance;
  std::shared_ptr<EdgeNeXtEncoder> backbone;
  std::shared_ptr<detail::PartList<Level>> levels;
  std::shared_ptr<CamoxpertDecoder> decoder;
  nn::ModuleList side{nullptr};
  std::shared_ptr<CamoxpertHead> head;
};

}  // namespace

std::unique_ptr<Network> make_camoxpert(const CamoXpertOptions& options) {
  detail::check_classes(camoxpert_name, options.classes);
  detail::check_mixture(camoxpert_name, options.mixture, expert_kinds.size());
  return std::make_unique<ModuleNetwork<CamoXpert>>(std::make_shared<CamoXpert>(options));
}

}  // namespace headrace::inline v1::models
