#include <headrace/benchmarks/checkpoint/course.h>
#include <headrace/engine/sample/source.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/training/example.h>

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ops/relu.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::bench {
namespace {

class Vectors final : public Source {
 public:
  Vectors(std::int64_t size, std::int64_t width) : size_(size), width_(width) {}
  std::string name() const override { return "vectors"; }
  std::int64_t size() const override { return size_; }
  Schema fields() const override {
    return {FieldSpec::fixed("array", DType::float32, {width_}),
            FieldSpec::fixed("label", DType::int64, {})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    auto* values = sample.make("array", DType::float32, {width_}).data<float>();
    for (std::int64_t i = 0; i < width_; ++i)
      values[i] = static_cast<float>((index * 31 + i * 7) % 17) / 17.0F;
    sample.set_scalar<std::int64_t>("label", index % 2);
  }

 private:
  std::int64_t size_;
  std::int64_t width_;
};

struct WideModule : torch::nn::Module {
  explicit WideModule(std::int64_t width) {
    for (int i = 0; i < 4; ++i)
      layers.push_back(
          register_module("layer" + std::to_string(i), torch::nn::Linear(width, width)));
  }
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor values = input;
    for (torch::nn::Linear& layer : layers)
      values = at::relu(layer(values));
    return values;
  }
  std::vector<torch::nn::Linear> layers;
};

}  // namespace

std::unique_ptr<models::Network> WideCourse::network() const {
  return std::make_unique<models::ModuleNetwork<WideModule>>(std::make_shared<WideModule>(width_));
}

Pipeline WideCourse::train(const training::Stage&, const training::Feed& feed) const {
  return Pipeline::from(Vectors(records_, width_)).batch({.size = feed.batch}).to(feed.device);
}

Pipeline WideCourse::evaluation(training::Split, const training::Feed& feed) const {
  return Pipeline::from(Vectors(feed.batch, width_)).batch({.size = feed.batch}).to(feed.device);
}

training::Example WideCourse::example(const Batch& batch, const training::Moment& moment) const {
  return training::unpack_arrays()(batch, moment.device);
}

std::vector<training::Term> WideCourse::loss(const training::Output& output,
                                             const training::Example& example,
                                             const training::Moment&) const {
  return {{.value = models::cross_entropy(output.main, training::only(example.targets, "target"))}};
}

}  // namespace headrace::inline v1::bench
