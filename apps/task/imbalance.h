#pragma once

#include <headrace/apps/config/fields.h>

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

}  // namespace headrace::inline v1::app
