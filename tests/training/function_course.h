#pragma once

#include <headrace/training/recipe.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

namespace headrace::test {

/// A mean loss of logits against targets over the rows that are present.
using LossFunction = std::function<at::Tensor(const at::Tensor& logits, const at::Tensor& target,
                                              const at::Tensor& present)>;

/// What a test's course is made of; all but the loss may be left out.
struct CourseParts {
  LossFunction loss;
  training::Unpack unpack = training::unpack_images();
  std::int64_t classes = 0;  ///< of a ClassificationMetric; 0: none
  std::function<std::unique_ptr<training::Metric>(training::Split)> metric = {};
  training::Selection selected_by = {};
  std::function<at::Tensor(const at::Tensor& target)> weight = {};  ///< see Term::weight
};

/// A course of functions, for trainers that are given network and loaders.
class FunctionCourse final : public training::Course {
 public:
  explicit FunctionCourse(CourseParts parts) : parts_(std::move(parts)) {}

  std::unique_ptr<models::Network> network() const override { throw std::logic_error("none"); }
  Pipeline train(const training::Stage&, const training::Feed&) const override {
    throw std::logic_error("none");
  }
  Pipeline evaluation(training::Split, const training::Feed&) const override {
    throw std::logic_error("none");
  }
  training::Example example(const Batch& batch, const training::Moment& moment) const override {
    return parts_.unpack(batch, moment.device);
  }
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment&) const override {
    const at::Tensor& target = training::only(example.targets, "target");
    return {{.value = parts_.loss(output.main, target, example.present),
             .weight = parts_.weight ? parts_.weight(target) : at::Tensor()}};
  }
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap&) const override {
    if (parts_.metric) return parts_.metric(split);
    if (parts_.classes == 0) return nullptr;
    return std::make_unique<training::ClassificationMetric>(parts_.classes);
  }
  training::Selection selected_by() const override { return parts_.selected_by; }

 private:
  CourseParts parts_;
};

/// An example of one input and one target.
inline training::Example example_of(const at::Tensor& input, const at::Tensor& target,
                                    const at::Tensor& present = {}) {
  return {.inputs = {{"input", input}}, .targets = {{"target", target}}, .present = present};
}

/// A moment of a step of training; the stage outlives it.
inline training::Moment moment_of(const training::Stage& stage, Random& random) {
  return {.stage = stage, .training = true, .random = random};
}

}  // namespace headrace::test
