#include <headrace/models/networks/detail/nnunet_blocks.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/nnunet_networks.h>

#include <algorithm>

#include <torch/nn/init.h>

namespace headrace::inline v1::models {

namespace {

struct PlainConvEncoder : BlockModule {
  explicit PlainConvEncoder(const detail::NnUNetShape& shape)
      : stages(register_module("stages", std::make_shared<StageList>())) {
    std::int64_t in = shape.in_channels;
    for (const detail::NnUNetStage& stage : shape.stages) {
      auto part = std::make_shared<Stage>();  // a list of one: `stages.0.0`
      part->add(std::make_shared<detail::ConvStack>(
          stage.blocks,
          detail::ConvOptions{
              .in = in, .out = stage.features, .kernel = stage.kernel, .stride = stage.stride}));
      stages->add(part);
      add_block(stage_name(stages->parts.size() - 1), {part});
      in = stage.features;
    }
  }

  std::vector<at::Tensor> forward(const at::Tensor& images) const {
    std::vector<at::Tensor> maps;
    for (std::size_t index = 0; index < stages->parts.size(); ++index)
      maps.push_back(run_part(stage_name(index), *stages->parts[index]->parts.front(),
                              maps.empty() ? images : maps.back()));
    return maps;
  }

  static std::string stage_name(std::size_t index) { return "stages." + std::to_string(index); }

  using Stage = detail::PartList<detail::ConvStack>;
  using StageList = detail::PartList<Stage>;
  std::shared_ptr<StageList> stages;
};

}  // namespace

std::unique_ptr<Network> make_plain_conv_unet(const NnUNetOptions& options) {
  using Module = detail::NnUNetModule<PlainConvEncoder>;
  return std::make_unique<ModuleNetwork<Module>>(
      std::make_shared<Module>(detail::shape_of(detail::plain_conv_unet_kind, options)));
}

namespace {

using detail::Axes;
using detail::ConvBlock;
using detail::ConvOptions;

// The way around a block: what it does not change, it hands on.
struct Shortcut : torch::nn::Module {
  explicit Shortcut(const ConvOptions& block)
      : stride(block.stride), pools(std::ranges::count(stride, 1) < std::ssize(stride)) {
    if (block.in != block.out)
      projection =
          register_module(pools ? "1" : "0",  // behind the pooling, which has no tensors
                          std::make_shared<ConvBlock>(ConvOptions{.in = block.in,
                                                                  .out = block.out,
                                                                  .kernel = Axes(stride.size(), 1),
                                                                  .stride = Axes(stride.size(), 1),
                                                                  .bias = false,
                                                                  .activation = false}));
  }

  at::Tensor forward(at::Tensor x) const {
    if (pools) x = detail::average_pool(x, stride);
    return projection ? projection->forward(std::move(x)) : x;
  }

  Axes stride;
  bool pools;
  std::shared_ptr<ConvBlock> projection;
};

struct ResidualBlock : torch::nn::Module {
  explicit ResidualBlock(const ConvOptions& first)
      : conv1(register_module("conv1", std::make_shared<ConvBlock>(first))),
        conv2(register_module("conv2", std::make_shared<ConvBlock>(second_of(first)))),
        skip(register_module("skip", std::make_shared<Shortcut>(first))) {
    torch::nn::init::zeros_(conv2->norm->weight);
  }

  at::Tensor forward(at::Tensor x) const {
    const at::Tensor residual = skip->forward(x);
    x = conv2->forward(conv1->forward(std::move(x)));
    return detail::activate(x + residual);  // x is a view
  }

  static ConvOptions second_of(const ConvOptions& first) {
    return {.in = first.out,
            .out = first.out,
            .kernel = first.kernel,
            .stride = Axes(first.stride.size(), 1),
            .activation = false};
  }

  std::shared_ptr<ConvBlock> conv1;
  std::shared_ptr<ConvBlock> conv2;
  std::shared_ptr<Shortcut> skip;
};

struct ResidualStage : BlockModule {
  ResidualStage(std::int64_t in, const detail::NnUNetStage& stage)
      : blocks(register_module("blocks", std::make_shared<detail::PartList<ResidualBlock>>())) {
    ConvOptions options{
        .in = in, .out = stage.features, .kernel = stage.kernel, .stride = stage.stride};
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      blocks->add(std::make_shared<ResidualBlock>(options));
      add_block(block_name(blocks->parts.size() - 1), {blocks->parts.back()});
      options.in = stage.features;
      options.stride.assign(stage.stride.size(), 1);
    }
  }

  at::Tensor forward(at::Tensor x) const {
    for (std::size_t index = 0; index < blocks->parts.size(); ++index)
      x = run_part(block_name(index), *blocks->parts[index], std::move(x));
    return x;
  }

  static std::string block_name(std::size_t index) { return "blocks." + std::to_string(index); }

  std::shared_ptr<detail::PartList<ResidualBlock>> blocks;
};

struct ResidualEncoder : BlockModule {
  explicit ResidualEncoder(const detail::NnUNetShape& shape)
      : stem(register_module("stem", make_stem(shape))),
        stages(register_module("stages", std::make_shared<detail::PartList<ResidualStage>>())) {
    add_block("stem", {stem});
    std::int64_t in = shape.stages.front().features;
    for (const detail::NnUNetStage& stage : shape.stages) {
      stages->add(std::make_shared<ResidualStage>(in, stage));
      in = stage.features;
    }
  }

  std::vector<at::Tensor> forward(const at::Tensor& images) const {
    std::vector<at::Tensor> maps;
    for (const auto& stage : stages->parts)
      maps.push_back(stage->forward(maps.empty() ? run_part("stem", *stem, images) : maps.back()));
    return maps;
  }

  static std::shared_ptr<detail::ConvStack> make_stem(const detail::NnUNetShape& shape) {
    const detail::NnUNetStage& finest = shape.stages.front();
    return std::make_shared<detail::ConvStack>(1, ConvOptions{.in = shape.in_channels,
                                                              .out = finest.features,
                                                              .kernel = finest.kernel,
                                                              .stride = finest.stride});
  }

  std::shared_ptr<detail::ConvStack> stem;
  std::shared_ptr<detail::PartList<ResidualStage>> stages;
};

}  // namespace

std::unique_ptr<Network> make_residual_encoder_unet(const NnUNetOptions& options) {
  using Module = detail::NnUNetModule<ResidualEncoder>;
  return std::make_unique<ModuleNetwork<Module>>(
      std::make_shared<Module>(detail::shape_of(detail::residual_encoder_unet_kind, options)));
}

namespace {

void replace(std::string& name, std::string_view from, std::string_view to) {
  if (const std::size_t at = name.find(from); at != std::string::npos)
    name.replace(at, from.size(), to);
}

}  // namespace

std::string canonical_nnunet_name(std::string_view name) {
  constexpr std::string_view owner = "decoder.";
  if (name.starts_with("decoder.encoder.")) name.remove_prefix(owner.size());
  std::string canonical(name);
  // With dropout the norm is number 2: such a file must not fit, so that number keeps its name.
  replace(canonical, ".all_modules.0.", ".conv.");
  replace(canonical, ".all_modules.1.", ".norm.");
  return canonical;
}

}  // namespace headrace::inline v1::models
