#include <headrace/models/networks/detail/truncated_normal.h>

#include <cmath>
#include <numbers>

#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr double deviation = .02;
constexpr double cut = 2.0;  // deviations

// By the inverse of the cumulative distribution.
void fill(at::Tensor weight) {
  const at::NoGradGuard no_gradient;
  const double share = std::erf(cut / std::numbers::sqrt2);
  weight.uniform_(-share, share).erfinv_().mul_(deviation * std::numbers::sqrt2);
  weight.clamp_(-cut * deviation, cut * deviation);
}

template <typename Layer>
void start(Layer* layer) {
  if (layer == nullptr) return;
  fill(layer->weight);
  if (layer->bias.defined()) torch::nn::init::zeros_(layer->bias);
}

}  // namespace

void start_truncated_normal(torch::nn::Module& module) {
  for (const auto& part : module.modules(false)) {
    start(part->as<torch::nn::Conv2d>());
    start(part->as<torch::nn::Linear>());
  }
}

}  // namespace headrace::inline v1::models::detail
