#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/models/networks/resnet_encoder.h>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models {

namespace {

constexpr const char* who = "ResNet";

class ResNet : public ResNetEncoder {
 public:
  ResNet(const ResNetEncoderOptions& encoder, std::int64_t classes)
      : ResNetEncoder(encoder),
        in_channels_(encoder.in_channels),
        fc_(register_module("fc", torch::nn::Linear(channels().back(), classes))) {}

  at::Tensor forward(const at::Tensor& images) {
    detail::check_images(who, images, {.channels = in_channels_});
    return fc_(at::adaptive_avg_pool2d(features(images).back(), {1, 1}).flatten(1));
  }

 private:
  std::int64_t in_channels_;
  torch::nn::Linear fc_;
};

ResNetEncoderOptions encoder_of(const ResNetOptions& options) {
  detail::check_classes(who, options.classes);
  return {.depth = options.depth, .in_channels = options.in_channels, .width = options.width};
}

}  // namespace

std::unique_ptr<Network> make_resnet(const ResNetOptions& options) {
  return std::make_unique<ModuleNetwork<ResNet>>(
      std::make_shared<ResNet>(encoder_of(options), options.classes));
}

}  // namespace headrace::inline v1::models
