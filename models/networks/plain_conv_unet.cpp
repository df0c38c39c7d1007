#include <headrace/models/networks/detail/nnunet_module.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/plain_conv_unet.h>

namespace headrace::inline v1::models {

namespace {

struct PlainConvEncoder : torch::nn::Module {
  explicit PlainConvEncoder(const detail::NnUNetShape& shape)
      : stages(register_module("stages", std::make_shared<StageList>())) {
    std::int64_t in = shape.in_channels;
    for (const detail::NnUNetStage& stage : shape.stages) {
      auto part = std::make_shared<Stage>();  // a list of one: `stages.0.0`
      part->add(std::make_shared<detail::ConvStack>(
          stage.blocks,
          detail::ConvOptions{
              .in = in, .out = stage.features, .kernel = stage.kernel, .stride = stage.stride}));
      stages->add(std::move(part));
      in = stage.features;
    }
  }

  std::vector<at::Tensor> forward(const at::Tensor& images) const {
    std::vector<at::Tensor> maps;
    for (const auto& stage : stages->parts)
      maps.push_back(stage->parts.front()->forward(maps.empty() ? images : maps.back()));
    return maps;
  }

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

}  // namespace headrace::inline v1::models
