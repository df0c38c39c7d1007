// Logistic regression on x, y, x^2 + y^2 and 1: enough to tell two rings apart.
#include "train.h"

#include <array>
#include <cmath>

namespace embed {
namespace {

using Features = std::array<double, 4>;

Features features(const float* p) {
  return {p[0], p[1], p[0] * p[0] + p[1] * p[1], 1.0};
}

double probability(const Features& weights, const Features& x) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += weights[i] * x[i];
  return 1.0 / (1.0 + std::exp(-sum));
}

void step(const headrace::Batch& batch, double rate, Features& weights) {
  const headrace::Tensor points = batch["point"];
  const headrace::Tensor labels = batch["label"];
  Features gradient{};
  for (std::int64_t row = 0; row < batch.size(); ++row) {
    const Features x = features(points.data<float>() + 2 * row);
    const double error =
        probability(weights, x) - static_cast<double>(labels.data<std::int64_t>()[row]);
    for (std::size_t i = 0; i < x.size(); ++i)
      gradient[i] += error * x[i];
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] -= rate * gradient[i] / static_cast<double>(batch.size());
  }
}

}  // namespace

double train(headrace::Loader& loader, headrace::Loader& test, int epochs) {
  Features weights{};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (headrace::Batch& batch : loader.epoch(epoch))
      step(batch, 1.0, weights);
  }
  std::int64_t right = 0;
  for (headrace::Batch& batch : test.epoch(0)) {
    const headrace::Tensor points = batch["point"];
    const headrace::Tensor labels = batch["label"];
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const bool outer = probability(weights, features(points.data<float>() + 2 * row)) > 0.5;
      right += outer == (labels.data<std::int64_t>()[row] == 1);
    }
  }
  return static_cast<double>(right) / static_cast<double>(test.samples_per_epoch());
}

#ifndef WATCH_OPENMP
int net_threads() {
  return 0;
}
#endif

}  // namespace embed
