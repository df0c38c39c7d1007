#include <headrace/apps/task/imbalance.h>
#include <headrace/engine/base/error.h>

#include <cmath>

namespace headrace::inline v1::app {

void describe(Fields& fields, ImbalanceSettings& imbalance) {
  fields.choice("sampler", imbalance.sampler,
                {{"shuffled", Sampler::shuffled}, {"balanced", Sampler::balanced}},
                {.doc = "balanced: every class is drawn as often, its records with replacement"});
  fields.choice("weights", imbalance.weights,
                {{"none", LossWeights::none},
                 {"inverse", LossWeights::inverse},
                 {"effective", LossWeights::effective}},
                {.doc = "of the classes in the loss, by the records to train on: inverse of their "
                        "number, or of their effective number (beta 0.999)"});
}

void check(const ImbalanceSettings& imbalance) {
  if (imbalance.sampler == Sampler::balanced && imbalance.weights != LossWeights::none)
    throw ConfigError(
        "[config] imbalance: sampler balanced and weights would count rare classes twice; set one "
        "of them");
}

std::vector<double> class_weights(LossWeights weights, std::span<const std::int64_t> counts) {
  if (weights == LossWeights::none) return {};
  constexpr double beta = 0.999;
  std::vector<double> all;
  double sum = 0.0;
  for (const std::int64_t count : counts) {
    const auto n = static_cast<double>(count);
    const double weight = count == 0 ? 0.0
                          : weights == LossWeights::effective
                              ? (1.0 - beta) / (1.0 - std::pow(beta, n))
                              : 1.0 / n;
    all.push_back(weight);
    sum += weight;
  }
  for (double& weight : all)
    weight *= static_cast<double>(all.size()) / sum;
  return all;
}

std::vector<double> positive_weights(LossWeights weights, std::span<const std::int64_t> counts,
                                     std::int64_t records) {
  if (weights == LossWeights::none) return {};
  std::vector<double> all;
  for (const std::int64_t count : counts)
    all.push_back(count == 0 ? 1.0
                             : static_cast<double>(records - count) / static_cast<double>(count));
  return all;
}

}  // namespace headrace::inline v1::app
