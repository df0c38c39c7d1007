#include <headrace/models/networks/detail/nnunet_decoder.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/cat.h>

namespace headrace::inline v1::models::detail {

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
    seg_layers->add(std::make_shared<Conv>(
        ConvOptions{.in = stage.features, .out = shape.classes, .kernel = ones, .stride = ones}));
  }
}

std::vector<at::Tensor> NnUNetDecoder::forward(std::vector<at::Tensor> skips, bool deep) const {
  std::vector<at::Tensor> logits;
  at::Tensor x = std::move(skips.back());
  skips.pop_back();
  for (std::size_t stage = 0; stage < stages->parts.size(); ++stage) {
    x = transpconvs->parts[stage]->forward(x);
    x = at::cat({x, skips.back()}, 1);
    skips.pop_back();
    x = stages->parts[stage]->forward(std::move(x));
    if (deep || skips.empty()) logits.push_back(seg_layers->parts[stage]->forward(x));
  }
  std::ranges::reverse(logits);
  return logits;
}

}  // namespace headrace::inline v1::models::detail
