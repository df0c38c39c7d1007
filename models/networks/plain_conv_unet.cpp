#include <headrace/models/networks/detail/nnunet_module.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/plain_conv_unet.h>

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
    for (std::size_t index = 0; index < stages->parts.size(); ++index) {
      const auto& stage = *stages->parts[index]->parts.front();
      maps.push_back(run_block(
          stage_name(index), [&stage](at::Tensor x) { return stage.forward(std::move(x)); },
          maps.empty() ? images : maps.back()));
    }
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

}  // namespace headrace::inline v1::models
