#pragma once

#include <headrace/training/recipe.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace headrace::test {

/// What a ChangedCourse does otherwise; empty: as the course itself.
struct CourseChanges {
  std::function<void(const Batch& batch)> before_example = {};
  std::function<training::Example(const Batch& batch, training::Example example)> example = {};
  /// What the loss is given.
  std::function<training::Example(training::Example example)> example_for_loss = {};
  /// The first term's value, made of what the course gives.
  std::function<at::Tensor(const at::Tensor& value, const at::Tensor& logits,
                           const training::Example& example)>
      loss = {};
};

/// A job's course with a fault, or an observer, in it.
class ChangedCourse final : public training::Course {
 public:
  ChangedCourse(std::shared_ptr<const training::Course> course, CourseChanges changes)
      : course_(std::move(course)), changes_(std::move(changes)) {}

  std::vector<training::Stage> stages() const override { return course_->stages(); }
  std::unique_ptr<models::Network> network() const override { return course_->network(); }
  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override {
    return course_->train(stage, feed);
  }
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override {
    return course_->evaluation(split, feed);
  }
  training::Example example(const Batch& batch, const training::Moment& moment) const override {
    if (changes_.before_example) changes_.before_example(batch);
    training::Example example = course_->example(batch, moment);
    return changes_.example ? changes_.example(batch, std::move(example)) : example;
  }
  training::Output forward(models::Network& network, const training::Example& example,
                           const training::Moment& moment) const override {
    return course_->forward(network, example, moment);
  }
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment& moment) const override {
    std::vector<training::Term> terms = course_->loss(
        output, changes_.example_for_loss ? changes_.example_for_loss(example) : example, moment);
    if (changes_.loss)
      terms.front().value = changes_.loss(terms.front().value, output.main, example);
    return terms;
  }
  at::Tensor scores(const training::Output& output) const override {
    return course_->scores(output);
  }
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override {
    return course_->metric(split, fitted);
  }
  training::Selection selected_by() const override { return course_->selected_by(); }

 private:
  std::shared_ptr<const training::Course> course_;
  CourseChanges changes_;
};

}  // namespace headrace::test
