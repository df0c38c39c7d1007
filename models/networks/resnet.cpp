#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/models/networks/resnet_encoder.h>

#include <ATen/ops/adaptive_avg_pool2d.h>
namespace headrace::inline v1::models {

namespace {

constexpr const char* resnet_name = "ResNet";

class ResNet : public ResNetEncoder {
 public:
  ResNet(const ResNetEncoderOptions& encoder, std::int64_t classes, const HeadOptions& head)
      : ResNetEncoder(encoder),
        in_channels_(encoder.in_channels),
        head_(add_head(*this, encoder.variant.legacy ? "last_linear" : "fc",
                       {.features = channels().back(), .outputs = classes}, head)) {}

  at::Tensor forward(const at::Tensor& images) {
    detail::check_images(resnet_name, images, {.channels = in_channels_});
    return head_->forward(at::adaptive_avg_pool2d(features(images).back(), {1, 1}).flatten(1));
  }

 private:
  std::int64_t in_channels_;
  torch::nn::Sequential head_;
};

ResNetEncoderOptions encoder_of(const ResNetOptions& options) {
  detail::check_classes(resnet_name, options.classes);
  return {.depth = options.depth,
          .in_channels = options.in_channels,
          .width = options.width,
          .zero_init_last = !options.variant.legacy,
          .variant = options.variant};
}

}  // namespace

std::unique_ptr<Network> make_resnet(const ResNetOptions& options) {
  return std::make_unique<ModuleNetwork<ResNet>>(
      std::make_shared<ResNet>(encoder_of(options), options.classes, options.head));
}

}  // namespace headrace::inline v1::models
