#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/camoxpert.h>
#include <headrace/models/networks/detail/conv_norm.h>
#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/detail/mixture_parts.h>
#include <headrace/models/networks/detail/part_list.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/width.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/modules/container/modulelist.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;
using detail::ConvNorm;

constexpr const char* camoxpert_lean_name = "camoxpert_lean";

constexpr std::array<detail::ExpertMaker, 4> lean_expert_kinds{
    detail::texture_expert, detail::wide_expert, detail::edge_difference_expert,
    detail::context_expert};

// One of the encoder's maps in the decoder's channels; a mixture where it is not the finest.
struct LeanLevel : nn::Module {
  LeanLevel(std::int64_t in, std::int64_t out)
      : lateral(register_module(
            "lateral", std::make_shared<ConvNorm>(detail::ConvNormOptions{.in = in, .out = out}))) {
  }

  Mixed forward(const at::Tensor& feature) {
    const at::Tensor maps = lateral->forward(feature);
    if (!moe) return {.maps = maps};
    Mixed mixed = moe->forward(maps);
    mixed.maps = mixed.maps + maps;
    return mixed;
  }

  std::shared_ptr<ConvNorm> lateral;
  std::shared_ptr<ExpertMixture> moe;
};

struct LeanDecoder : BlockModule {
  explicit LeanDecoder(std::int64_t channels)
      : blocks(register_module("blocks", std::make_shared<detail::PartList<ConvNorm>>())) {
    for (std::size_t i = 0; i < 3; ++i) {
      blocks->add(std::make_shared<ConvNorm>(
          detail::ConvNormOptions{.in = channels, .out = channels, .kernel = 3}));
      add_block(block_name(i), {blocks->parts.back()});
    }
  }

  // Maps at strides 32, 16, 8 and 4.
  std::vector<at::Tensor> forward(const std::array<Mixed, 4>& levels) {
    std::vector<at::Tensor> made{levels.back().maps};
    for (std::size_t i = 0; i < blocks->parts.size(); ++i) {
      auto& block = *blocks->parts[i];
      const auto fuse = [&block](const at::Tensor& coarse, const at::Tensor& fine) {
        return block.forward(detail::resized(coarse, fine.sizes().slice(2)) + fine).relu_();
      };
      made.push_back(run_block(block_name(i), fuse, made.back(), levels[2 - i].maps));
    }
    return made;
  }

  static std::string block_name(std::size_t number) { return "blocks." + std::to_string(number); }

  std::shared_ptr<detail::PartList<ConvNorm>> blocks;
};

struct CamoXpertLean : nn::Module {
  explicit CamoXpertLean(const CamoXpertOptions& options)
      : in_channels(options.in_channels),
        balance(options.mixture.balance),
        backbone(
            register_module("backbone", std::make_shared<EdgeNeXtEncoder>(EdgeNeXtEncoderOptions{
                                            .size = options.encoder,
                                            .in_channels = options.in_channels,
                                            .width = options.width}))),
        levels(register_module("levels", std::make_shared<detail::PartList<LeanLevel>>())) {
    const std::int64_t channels = scaled_channels(64, options.width);
    for (const std::int64_t count : backbone->channels()) {
      auto level = std::make_shared<LeanLevel>(count, channels);
      if (!levels->parts.empty())
        level->moe = level->register_module(
            "moe", detail::make_mixture(channels, options.mixture, lean_expert_kinds));
      levels->add(std::move(level));
    }
    decoder = register_module("decoder", std::make_shared<LeanDecoder>(channels));
    const detail::ConvNormOptions of_logits{.in = channels, .out = options.classes};
    if (options.mixture.deep_supervision) {
      side = register_module("side", nn::ModuleList());
      for (std::size_t i = 0; i < 3; ++i)
        side->push_back(detail::same_convolution(of_logits));
    }
    head = register_module("head", detail::same_convolution(of_logits));
  }

  at::Tensor forward(const at::Tensor& images) { return run(images, false).main; }
  Output outputs(const at::Tensor& images) { return run(images, true); }

  // `all`: also what only training looks at.
  Output run(const at::Tensor& images, bool all) {
    detail::check_images(camoxpert_lean_name, images,
                         {.channels = in_channels, .side_divisor = detail::coarsest_stride});
    std::array<at::Tensor, 4> features = backbone->features(images);
    std::array<Mixed, 4> mixed;
    for (std::size_t i = 0; i < mixed.size(); ++i)
      mixed[i] = levels->parts[i]->forward(std::exchange(features[i], {}));
    const std::vector<at::Tensor> maps = decoder->forward(mixed);
    Output output =
        all ? detail::training_outputs(side, maps, {mixed.begin() + 1, mixed.end()}, balance)
            : Output{};
    output.main = detail::resized(head(maps.back()), images.sizes().slice(2));
    return output;
  }

  std::int64_t in_channels;
  double balance;
  std::shared_ptr<EdgeNeXtEncoder> backbone;
  std::shared_ptr<detail::PartList<LeanLevel>> levels;
  std::shared_ptr<LeanDecoder> decoder;
  nn::ModuleList side{nullptr};
  nn::Conv2d head{nullptr};
};

}  // namespace

std::unique_ptr<Network> make_camoxpert_lean(const CamoXpertOptions& options) {
  detail::check_classes(camoxpert_lean_name, options.classes);
  detail::check_mixture(camoxpert_lean_name, options.mixture, lean_expert_kinds.size());
  return std::make_unique<ModuleNetwork<CamoXpertLean>>(std::make_shared<CamoXpertLean>(options));
}

}  // namespace headrace::inline v1::models
