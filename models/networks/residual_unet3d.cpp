#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/part_list.h>
#include <headrace/models/networks/detail/refuse.h>
#include <headrace/models/networks/detail/residual_unet3d_parts.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/residual_unet3d.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_trilinear3d.h>
#include <torch/nn/modules/conv.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

constexpr const char* residual_unet3d_name = "ResidualUNet3D";
constexpr std::array<std::int64_t, 5> stage_factors{1, 2, 2, 4, 4};
constexpr std::int64_t bottleneck_factor = 8;
constexpr std::int64_t least_side = 16;  // one voxel is left at the coarsest stage

using Blocks = detail::PartList<detail::ResidualBlock3d>;

std::shared_ptr<Blocks> blocks_of(std::int64_t count, detail::ResidualBlock3dOptions options) {
  auto blocks = std::make_shared<Blocks>();
  for (; count > 0; --count) {
    blocks->add(std::make_shared<detail::ResidualBlock3d>(options));
    options.in = options.out;
  }
  return blocks;
}

std::shared_ptr<nn::ConvTranspose3dImpl> doubling(std::int64_t in, std::int64_t out) {
  return std::make_shared<nn::ConvTranspose3dImpl>(
      nn::ConvTranspose3dOptions(in, out, 2).stride(2));
}

std::shared_ptr<nn::Conv3dImpl> head_of(std::int64_t in, std::int64_t classes) {
  return std::make_shared<nn::Conv3dImpl>(nn::Conv3dOptions(in, classes, 1));
}

at::Tensor joined(at::Tensor coarse, const at::Tensor& skip) {
  const at::IntArrayRef sides = skip.sizes().slice(2);
  if (coarse.sizes().slice(2) != sides)
    coarse = at::upsample_trilinear3d(coarse, sides, /*align_corners=*/false);
  return at::cat({coarse.to(skip.scalar_type()), skip}, 1);
}

struct ResidualUNet3dModule : BlockModule {
  explicit ResidualUNet3dModule(const ResidualUNet3dOptions& of)
      : options(of),
        encoder_blocks(
            register_module("encoder_blocks", std::make_shared<detail::PartList<Blocks>>())) {
    std::int64_t in = options.in_channels;
    for (std::size_t stage = 0; stage < stage_factors.size(); ++stage) {
      encoder_blocks->add(blocks(in, channels_of(stage)));
      add_blocks(stage_name(stage), *encoder_blocks->parts.back());
      in = channels_of(stage);
    }
    const std::int64_t deepest = options.unet.base * bottleneck_factor;
    bottleneck = register_module("bottleneck", blocks(in, deepest));
    add_blocks("bottleneck", *bottleneck);
    make_decoder(deepest);
  }

  void make_decoder(std::int64_t in) {
    upconvs =
        register_module("upconvs", std::make_shared<detail::PartList<nn::ConvTranspose3dImpl>>());
    decoder_blocks =
        register_module("decoder_blocks", std::make_shared<detail::PartList<Blocks>>());
    head = register_module("head", head_of(channels_of(0), options.classes));
    if (options.unet.deep_supervision)
      aux_heads =
          register_module("aux_heads", std::make_shared<detail::PartList<nn::Conv3dImpl>>());
    for (std::size_t stage = stage_factors.size() - 1; stage-- > 0;) {
      const std::int64_t out = channels_of(stage);
      upconvs->add(doubling(in, out));
      decoder_blocks->add(blocks(2 * out, out));
      add_blocks(level_name(upconvs->parts.size() - 1), *decoder_blocks->parts.back(),
                 upconvs->parts.back());
      if (aux_heads && stage > 0) aux_heads->add(head_of(out, options.classes));
      in = out;
    }
  }

  at::Tensor forward(const at::Tensor& volumes) { return logits_of(volumes, false).front(); }

  Output outputs(const at::Tensor& volumes) {
    std::vector<at::Tensor> logits = logits_of(volumes, aux_heads != nullptr);
    Output output{.main = std::move(logits.front())};
    output.deep.assign(std::make_move_iterator(logits.begin() + 1),
                       std::make_move_iterator(logits.end()));
    return output;
  }

  // The finest first: of the last level alone, or of all.
  std::vector<at::Tensor> logits_of(const at::Tensor& volumes, bool deep) {
    check(volumes);
    std::vector<at::Tensor> skips = encoded(volumes);
    at::Tensor x = std::move(skips.back());
    skips.pop_back();
    x = run("bottleneck", *bottleneck, std::move(x));
    std::vector<at::Tensor> logits;
    for (std::size_t level = 0; level < upconvs->parts.size(); ++level) {
      at::Tensor skip = std::move(skips.back());
      skips.pop_back();
      x = raised(level, std::move(x), std::move(skip));
      if (skips.empty())
        logits.push_back(head->forward(x));
      else if (deep)
        logits.push_back(aux_heads->parts[level]->forward(x));
    }
    std::ranges::reverse(logits);
    return logits;
  }

  // The maps of every stage.
  std::vector<at::Tensor> encoded(const at::Tensor& volumes) {
    std::vector<at::Tensor> maps;
    for (std::size_t stage = 0; stage < stage_factors.size(); ++stage) {
      Blocks& parts = *encoder_blocks->parts[stage];
      at::Tensor x = maps.empty() ? volumes : maps.back();
      if (stage > 0)
        x = run_block(
            block_name(stage_name(stage), 0),
            [&first = *parts.parts.front()](const at::Tensor& finer) {
              return first.forward(detail::halved_volumes(finer));
            },
            std::move(x));
      maps.push_back(run(stage_name(stage), parts, std::move(x), stage > 0 ? 1 : 0));
    }
    return maps;
  }

  // What a level makes of the coarser one's maps and the encoder's.
  at::Tensor raised(std::size_t level, at::Tensor coarse, at::Tensor skip) {
    Blocks& parts = *decoder_blocks->parts[level];
    const auto first = [&up = *upconvs->parts[level], &block = *parts.parts.front()](
                           at::Tensor lower, at::Tensor beside) {
      lower = up.forward(lower);
      at::Tensor both = joined(std::move(lower), beside);
      lower.reset();
      beside.reset();
      return block.forward(both);
    };
    at::Tensor x =
        run_block(block_name(level_name(level), 0), first, std::move(coarse), std::move(skip));
    return run(level_name(level), parts, std::move(x), 1);
  }

  // The blocks of a list from `begin` on.
  at::Tensor run(const std::string& name, Blocks& parts, at::Tensor x, std::size_t begin = 0) {
    for (std::size_t i = begin; i < parts.parts.size(); ++i)
      x = run_part(block_name(name, i), *parts.parts[i], std::move(x));
    return x;
  }

  std::shared_ptr<Blocks> blocks(std::int64_t in, std::int64_t out) const {
    return blocks_of(options.unet.blocks, {.in = in, .out = out, .dropout = options.unet.dropout});
  }

  // `before` is part of the first.
  void add_blocks(const std::string& name, const Blocks& parts,
                  const std::shared_ptr<nn::Module>& before = nullptr) {
    for (std::size_t i = 0; i < parts.parts.size(); ++i) {
      Modules modules{parts.parts[i]};
      if (i == 0 && before) modules.push_back(before);
      add_block(block_name(name, i), std::move(modules));
    }
  }

  static std::string block_name(const std::string& list, std::size_t number) {
    return list + '.' + std::to_string(number);
  }
  static std::string stage_name(std::size_t stage) {
    return "encoder_blocks." + std::to_string(stage);
  }
  static std::string level_name(std::size_t level) {
    return "decoder_blocks." + std::to_string(level);
  }

  std::int64_t channels_of(std::size_t stage) const {
    return options.unet.base * stage_factors.at(stage);
  }

  void check(const at::Tensor& volumes) const;

  ResidualUNet3dOptions options;
  std::shared_ptr<detail::PartList<Blocks>> encoder_blocks;
  std::shared_ptr<Blocks> bottleneck;
  // From the coarsest level to the finest, which has the head alone.
  std::shared_ptr<detail::PartList<nn::ConvTranspose3dImpl>> upconvs;
  std::shared_ptr<detail::PartList<Blocks>> decoder_blocks;
  std::shared_ptr<detail::PartList<nn::Conv3dImpl>> aux_heads;  // null without deep supervision
  std::shared_ptr<nn::Conv3dImpl> head;
};

void ResidualUNet3dModule::check(const at::Tensor& volumes) const {
  const bool right = volumes.dim() == 5 && volumes.size(1) == options.in_channels;
  const at::IntArrayRef sides = right ? volumes.sizes().slice(2) : at::IntArrayRef();
  // A norm needs two values.
  if (right && *std::ranges::min_element(sides) >= least_side &&
      *std::ranges::max_element(sides) >= 2 * least_side)
    return;
  std::ostringstream message;
  message << '[' << residual_unet3d_name << "] volumes must be [N, " << options.in_channels
          << ", D, H, W] with sides of at least " << least_side << ", one of them of at least "
          << 2 * least_side << ", got " << volumes.sizes();
  throw DataError(message.str());
}

void check_options(const ResidualUNet3dOptions& options) {
  if (options.in_channels < 1 || options.classes < 1)
    detail::refuse(residual_unet3d_name, "needs at least 1 channel and 1 class, got ",
                   options.in_channels, " and ", options.classes);
  if (options.unet.base < 1 || options.unet.blocks < 1)
    detail::refuse(residual_unet3d_name, "base and blocks must be at least 1, got ",
                   options.unet.base, " and ", options.unet.blocks);
  if (!(options.unet.dropout >= 0.0 && options.unet.dropout < 1.0))
    detail::refuse(residual_unet3d_name, "dropout must be at least 0 and below 1, got ",
                   options.unet.dropout);
}

}  // namespace

std::unique_ptr<Network> make_residual_unet3d(const ResidualUNet3dOptions& options) {
  check_options(options);
  return std::make_unique<ModuleNetwork<ResidualUNet3dModule>>(
      std::make_shared<ResidualUNet3dModule>(options));
}

}  // namespace headrace::inline v1::models
