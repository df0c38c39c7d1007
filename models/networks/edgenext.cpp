#include <headrace/models/networks/detail/edgenext_blocks.h>
#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/edgenext.h>
#include <headrace/models/networks/module_network.h>

#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models {

namespace {

constexpr const char* edgenext_name = "EdgeNeXt";

class EdgeNeXtHead : public torch::nn::Module {
 public:
  EdgeNeXtHead(std::int64_t channels, std::int64_t classes)
      : norm_(register_module("norm", detail::layer_norm(channels))),
        fc_(register_module("fc", torch::nn::Linear(channels, classes))) {}

  at::Tensor forward(const at::Tensor& maps) { return fc_(norm_(maps.mean({2, 3}))); }

 private:
  torch::nn::LayerNorm norm_;
  torch::nn::Linear fc_;
};

class EdgeNeXt : public EdgeNeXtEncoder {
 public:
  explicit EdgeNeXt(const EdgeNeXtOptions& options)
      : EdgeNeXtEncoder(options.encoder),
        in_channels_(options.encoder.in_channels),
        head_(register_module("head",
                              std::make_shared<EdgeNeXtHead>(channels().back(), options.classes))) {
    detail::start_truncated_normal(*head_);
  }

  at::Tensor forward(const at::Tensor& images) {
    detail::check_images(edgenext_name, images,
                         {.channels = in_channels_, .side_divisor = detail::coarsest_stride});
    return head_->forward(features(images).back());
  }

 private:
  std::int64_t in_channels_;
  std::shared_ptr<EdgeNeXtHead> head_;
};

}  // namespace

std::unique_ptr<Network> make_edgenext(const EdgeNeXtOptions& options) {
  detail::check_classes(edgenext_name, options.classes);
  return std::make_unique<ModuleNetwork<EdgeNeXt>>(std::make_shared<EdgeNeXt>(options));
}

}  // namespace headrace::inline v1::models
