#include <headrace/engine/base/error.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/image_checks.h>
#include <headrace/models/networks/mlp.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/width.h>

#include <sstream>
#include <string>

#include <ATen/ops/gelu.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models {

namespace {

constexpr const char* mlp_name = "MLP";
constexpr std::int64_t usual_hidden = 512;

class Mlp : public BlockModule {
 public:
  Mlp(const MlpOptions& options, std::int64_t hidden)
      : features_(options.features),
        fc1_(register_module("fc1", torch::nn::Linear(options.features, hidden))),
        bn1_(register_module("bn1", torch::nn::BatchNorm1d(hidden))),
        fc2_(register_module("fc2", torch::nn::Linear(hidden, hidden))),
        bn2_(register_module("bn2", torch::nn::BatchNorm1d(hidden))),
        head_(register_module("head", torch::nn::Linear(hidden, options.classes))),
        dropout_(register_module("dropout", torch::nn::Dropout(options.dropout))) {
    add_block("fc1", {fc1_.ptr(), bn1_.ptr(), dropout_.ptr()});
    add_block("fc2", {fc2_.ptr(), bn2_.ptr(), dropout_.ptr()});
  }

  at::Tensor forward(const at::Tensor& vectors) {
    if (vectors.dim() != 2 || vectors.size(1) != features_) refuse(vectors);
    const at::Tensor first = run_block(
        "fc1", [this](const at::Tensor& x) { return dropout_(at::gelu(bn1_(fc1_(x)))); }, vectors);
    const at::Tensor second = run_block(
        "fc2", [this](const at::Tensor& x) { return dropout_(at::gelu(bn2_(fc2_(x)))); }, first);
    return head_(second);
  }

 private:
  [[noreturn]] void refuse(const at::Tensor& vectors) const {
    std::ostringstream sizes;
    sizes << vectors.sizes();
    throw DataError("[MLP] vectors must be [N, " + std::to_string(features_) + "], got " +
                    sizes.str());
  }

  std::int64_t features_;
  torch::nn::Linear fc1_;
  torch::nn::BatchNorm1d bn1_;
  torch::nn::Linear fc2_;
  torch::nn::BatchNorm1d bn2_;
  torch::nn::Linear head_;
  torch::nn::Dropout dropout_;
};

std::int64_t hidden_of(const MlpOptions& options) {
  detail::check_classes(mlp_name, options.classes);
  if (options.features < 1)
    throw ConfigError("[MLP] features must be at least 1, got " + std::to_string(options.features));
  if (!(options.dropout >= 0.0 && options.dropout < 1.0))
    throw ConfigError("[MLP] dropout must be at least 0 and below 1, got " +
                      std::to_string(options.dropout));
  return scaled_channels(usual_hidden, options.width);
}

}  // namespace

std::unique_ptr<Network> make_mlp(const MlpOptions& options) {
  return std::make_unique<ModuleNetwork<Mlp>>(std::make_shared<Mlp>(options, hidden_of(options)));
}

}  // namespace headrace::inline v1::models
