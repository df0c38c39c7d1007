#include <headrace/models/networks/detail/nnunet_decoder.h>

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ops/cat.h>

namespace headrace::inline v1::models::detail {

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
