#include <headrace/engine/base/error.h>
#include <headrace/training/evaluation/inference.h>

#include <utility>

#include <ATen/ops/flip.h>

namespace headrace::inline v1::training {

namespace {

std::vector<Cases> cases_of(Example example, Prediction prediction) {
  std::vector<Cases> one(1);
  one.front() = {.scores = std::move(prediction.scores),
                 .output = std::move(prediction.output),
                 .example = std::move(example),
                 .are_rows = true};
  return one;
}

}  // namespace

std::vector<Cases> PlainInference::add(Example example, const Batch&, const Predict& predict) {
  Prediction prediction = predict(example);
  return cases_of(std::move(example), std::move(prediction));
}

std::vector<Cases> FlipInference::add(Example example, const Batch&, const Predict& predict) {
  Prediction prediction = predict(example);
  if (!prediction.scores.defined())
    throw ConfigError("[flips] there must be scores to take the mean of; override Course::scores");
  for (const std::int64_t axis : axes_) {
    Example flipped = example;
    for (auto& [name, input] : flipped.inputs)
      input = at::flip(input, {axis});
    const at::Tensor scores = predict(flipped).scores;
    prediction.scores = prediction.scores + (scores_turn_ ? at::flip(scores, {axis}) : scores);
  }
  prediction.scores = prediction.scores / static_cast<double>(axes_.size() + 1);
  return cases_of(std::move(example), std::move(prediction));
}

}  // namespace headrace::inline v1::training
