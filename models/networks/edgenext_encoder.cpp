#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/models/networks/detail/edgenext_blocks.h>
#include <headrace/models/networks/edgenext_encoder.h>
#include <headrace/models/networks/width.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

struct Size {
  const char* name;
  std::array<std::int64_t, 4> depths;
  std::array<std::int64_t, 4> channels;
  std::int64_t heads;
};

constexpr std::array<Size, 4> edgenext_sizes{
    {{"edgenext_xx_small", {2, 2, 6, 2}, {24, 48, 88, 168}, 4},
     {"edgenext_x_small", {3, 3, 9, 3}, {32, 64, 100, 192}, 4},
     {"edgenext_small", {3, 3, 9, 3}, {48, 96, 160, 304}, 8},
     {"edgenext_base", {3, 3, 9, 3}, {80, 160, 288, 584}, 8}}};

constexpr std::array<std::int64_t, 4> kernels{3, 5, 7, 9};
constexpr std::array<std::int64_t, 4> scales{2, 2, 3, 4};

const Size& size_of(EdgeNeXtSize size) {
  return edgenext_sizes.at(static_cast<std::size_t>(size));
}

nn::Conv2d patches(std::int64_t in, std::int64_t out, std::int64_t side) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, side).stride(side));
}

class Stage : public nn::Module {
 public:
  explicit Stage(nn::Sequential downsample) : blocks_(register_module("blocks", nn::ModuleList())) {
    if (downsample.is_empty()) return;
    downsample_ = register_module("downsample", std::move(downsample));
  }

  void add(std::shared_ptr<detail::EdgeNeXtBlock> block) { blocks_->push_back(std::move(block)); }

  std::size_t depth() const { return blocks_->size(); }
  std::shared_ptr<nn::Module> block(std::size_t number) const { return blocks_->ptr(number); }

  at::Tensor downsampled(at::Tensor maps) {
    return downsample_.is_empty() ? std::move(maps) : downsample_->forward(std::move(maps));
  }

  detail::EdgeNeXtBlock& part(std::size_t number) {
    return blocks_->at<detail::EdgeNeXtBlock>(number);
  }

 private:
  nn::Sequential downsample_{nullptr};
  nn::ModuleList blocks_;
};

struct StageShape {
  std::size_t number = 0;
  std::int64_t in = 0;  // channels of the stage before
  std::int64_t channels = 0;
  std::int64_t heads = 0;
  std::int64_t depth = 0;
  std::int64_t earlier = 0;  // blocks of the stages before
  double drop_step = 0.0;    // rate of a block above that of the one before
};

std::shared_ptr<Stage> stage_of(const StageShape& shape) {
  nn::Sequential downsample{nullptr};
  if (shape.number > 0)
    downsample = nn::Sequential(std::make_shared<detail::LayerNorm2d>(shape.in),
                                patches(shape.in, shape.channels, 2));
  auto stage = std::make_shared<Stage>(std::move(downsample));
  const std::int64_t attention = shape.number > 0 ? 1 : 0;
  for (std::int64_t j = 0; j < shape.depth; ++j) {
    const double drop_path = shape.drop_step * static_cast<double>(shape.earlier + j);
    if (j < shape.depth - attention)
      stage->add(std::make_shared<detail::EdgeNeXtConvBlock>(shape.channels, kernels[shape.number],
                                                             drop_path));
    else
      stage->add(std::make_shared<detail::EdgeNeXtSdtaBlock>(
          detail::EdgeNeXtSdtaShape{.channels = shape.channels,
                                    .heads = shape.heads,
                                    .scales = scales[shape.number],
                                    .positional = shape.number == 1},
          drop_path));
  }
  return stage;
}

std::string stage_block_name(std::size_t stage, std::size_t number) {
  return "stages." + std::to_string(stage) + ".blocks." + std::to_string(number);
}

std::array<std::int64_t, 4> channels_of(const EdgeNeXtEncoderOptions& options) {
  const Size& size = size_of(options.size);
  std::array<std::int64_t, 4> channels{};
  std::ranges::transform(size.channels, channels.begin(), [&](std::int64_t count) {
    return scaled_channels(count, options.width, size.heads);
  });
  return channels;
}

void check(const EdgeNeXtEncoderOptions& options) {
  if (options.in_channels < 1)
    throw ConfigError("[EdgeNeXt] needs at least 1 channel, got " +
                      std::to_string(options.in_channels));
  if (!(options.drop_path >= 0.0 && options.drop_path < 1.0))
    throw ConfigError("[EdgeNeXt] drop_path must be at least 0 and below 1, got " +
                      std::to_string(options.drop_path));
}

}  // namespace

std::vector<std::string> edgenext_names() {
  std::vector<std::string> names;
  for (const Size& size : edgenext_sizes)
    names.emplace_back(size.name);
  return names;
}

EdgeNeXtSize edgenext_size_of(const std::string& name) {
  const std::vector<std::string> names = edgenext_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<EdgeNeXtSize>(found - names.begin());
  std::string text = "[EdgeNeXt] name must be one of ";
  for (const std::string& known : names)
    text += (known == names.front() ? "" : ", ") + known;
  throw ConfigError(text + ", got \"" + name + '"' + did_you_mean(name, names));
}

EdgeNeXtEncoder::EdgeNeXtEncoder(const EdgeNeXtEncoderOptions& options)
    : channels_(channels_of(options)) {
  check(options);
  stem_ =
      register_module("stem", nn::Sequential(patches(options.in_channels, channels_[0], 4),
                                             std::make_shared<detail::LayerNorm2d>(channels_[0])));
  stages_ = register_module("stages", nn::ModuleList());
  add_block("stem", {stem_.ptr()});
  const Size& size = size_of(options.size);
  const std::int64_t blocks =
      std::accumulate(size.depths.begin(), size.depths.end(), std::int64_t{0});
  StageShape shape{.heads = size.heads,
                   .drop_step = options.drop_path / static_cast<double>(blocks - 1)};
  for (; shape.number < channels_.size(); ++shape.number) {
    shape.channels = channels_[shape.number];
    shape.depth = size.depths[shape.number];
    const auto stage = stage_of(shape);
    for (std::size_t j = 0; j < stage->depth(); ++j)
      add_block(stage_block_name(shape.number, j), {stage->block(j)});
    stages_->push_back(stage);
    shape.in = shape.channels;
    shape.earlier += shape.depth;
  }
  detail::start_truncated_normal(*this);
}

std::array<at::Tensor, 4> EdgeNeXtEncoder::features(const at::Tensor& images) {
  at::Tensor last = run_part("stem", *stem_, images);
  std::array<at::Tensor, 4> maps;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    auto& stage = stages_->at<Stage>(i);
    last = stage.downsampled(std::move(last)).contiguous(at::MemoryFormat::ChannelsLast);
    for (std::size_t j = 0; j < stage.depth(); ++j)
      last = run_part(stage_block_name(i, j), stage.part(j), std::move(last));
    maps[i] = last;
  }
  return maps;
}

}  // namespace headrace::inline v1::models
