#include <headrace/apps/task/imbalance.h>
#include <headrace/engine/base/error.h>

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
                        "number, or of their effective number (beta 0.999); of several "
                        "classes a record, without by with the class"});
}

void check(const ImbalanceSettings& imbalance) {
  if (imbalance.sampler == Sampler::balanced && imbalance.weights != LossWeights::none)
    throw ConfigError(
        "[config] imbalance: sampler balanced and weights would count rare classes twice; set one "
        "of them");
}

}  // namespace headrace::inline v1::app
