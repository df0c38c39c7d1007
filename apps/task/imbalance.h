#pragma once

#include <headrace/apps/config/fields.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::app {

enum class Sampler : unsigned char { shuffled, balanced };
enum class LossWeights : unsigned char { none, inverse, effective };

/// What is done about classes of different sizes: the section `imbalance`.
struct ImbalanceSettings {
  Sampler sampler = Sampler::shuffled;
  LossWeights weights = LossWeights::none;
};

/// Its keys.
void describe(Fields& fields, ImbalanceSettings& imbalance);

/// Throws ConfigError where both are set: a rare class would count twice.
void check(const ImbalanceSettings& imbalance);

/// A weight for each class, of mean 1 over the classes: 1 / n, or (1 - b) / (1 - b^n) with b =
/// 0.999 (Cui et al., 1901.05555); classes without records weigh 0. Empty where no weights are
/// wanted.
std::vector<double> class_weights(LossWeights weights, std::span<const std::int64_t> counts);

/// For labels that do not exclude each other: how much more a record with the label counts than one
/// without, (records - n) / n. Empty where no weights are wanted.
std::vector<double> positive_weights(LossWeights weights, std::span<const std::int64_t> counts,
                                     std::int64_t records);

}  // namespace headrace::inline v1::app
