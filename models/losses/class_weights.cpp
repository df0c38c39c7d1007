#include <headrace/engine/base/error.h>
#include <headrace/models/losses/class_weights.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace headrace::inline v1::models {

namespace {

std::vector<double> with_mean_one(std::vector<double> weights) {
  const double mean =
      std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (double& weight : weights)
    weight /= mean;
  return weights;
}

// What weighs is one sample at least.
double at_least_one(std::int64_t count) {
  return static_cast<double>(std::max<std::int64_t>(count, 1));
}

void require_samples(std::span<const std::int64_t> counts) {
  if (std::ranges::none_of(counts, [](std::int64_t count) { return count > 0; }))
    throw ConfigError("[class_weights] class weights need a sample, got none");
}

}  // namespace

std::vector<double> inverse_frequency_weights(std::span<const std::int64_t> counts) {
  require_samples(counts);
  std::vector<double> weights;
  for (const std::int64_t count : counts)
    weights.push_back(1.0 / at_least_one(count));
  return with_mean_one(std::move(weights));
}

std::vector<double> effective_number_weights(std::span<const std::int64_t> counts, double beta) {
  if (!(beta >= 0.0 && beta < 1.0))
    throw ConfigError("[class_weights] beta must lie in [0, 1), got " + std::to_string(beta));
  require_samples(counts);
  std::vector<double> weights;
  for (const std::int64_t count : counts)
    weights.push_back((1.0 - beta) / (1.0 - std::pow(beta, at_least_one(count))));
  return with_mean_one(std::move(weights));
}

std::vector<double> positive_weights(std::span<const std::int64_t> positives, std::int64_t rows) {
  std::vector<double> weights;
  for (const std::int64_t count : positives)
    weights.push_back(count > 0 && count < rows
                          ? static_cast<double>(rows - count) / static_cast<double>(count)
                          : 1.0);
  return weights;
}

}  // namespace headrace::inline v1::models
