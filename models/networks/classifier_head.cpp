#include <headrace/engine/base/error.h>
#include <headrace/models/networks/classifier_head.h>

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

// One for each linear layer.
std::vector<double> dropout_of(const HeadOptions& options) {
  const std::size_t layers = options.hidden.size() + 1;
  const std::vector<double>& given = options.dropout;
  for (const double p : given)
    if (!(p >= 0.0 && p < 1.0))
      throw ConfigError("[head] dropout must be at least 0 and below 1, got " + std::to_string(p));
  if (given.size() == layers) return given;
  if (given.size() <= 1) return std::vector<double>(layers, given.empty() ? 0.0 : given.front());
  throw ConfigError("[head] dropout must have a value for each of " + std::to_string(layers) +
                    " linear layers, one for all, or none; got " + std::to_string(given.size()));
}

}  // namespace

nn::Sequential add_head(nn::Module& owner, const std::string& name, const HeadShape& shape,
                        const HeadOptions& options) {
  const std::vector<double> dropout = dropout_of(options);
  nn::Sequential layers;
  std::int64_t in = shape.features;
  for (std::size_t i = 0; i < options.hidden.size(); ++i) {
    const std::int64_t out = options.hidden[i];
    if (out < 1)
      throw ConfigError("[head] hidden layers must have at least 1 output, got " +
                        std::to_string(out));
    layers->push_back(nn::Dropout(dropout[i]));
    layers->push_back(nn::Linear(in, out));
    layers->push_back(nn::ReLU(nn::ReLUOptions(/*inplace=*/true)));
    layers->push_back(nn::BatchNorm1d(out));
    in = out;
  }
  const nn::Dropout last(dropout.back());
  const nn::Linear linear(in, shape.outputs);
  layers->push_back(last);
  layers->push_back(linear);
  if (options.hidden.empty()) {
    owner.register_module(name + "_dropout", last);
    owner.register_module(name, linear);
  } else {
    owner.register_module(name, layers);
  }
  return layers;
}

}  // namespace headrace::inline v1::models
