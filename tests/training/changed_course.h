#pragma once

#include <headrace/training/recipe.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
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
  /// Told of each network that was made.
  std::function<void(models::Network& network)> made = {};
  std::function<void(models::Network& network, const training::Example& example)> before_forward =
      {};
  std::int64_t batch = 0;             ///< rows to train on, whatever is asked for; 0: as asked
  std::int64_t evaluation_batch = 0;  ///< likewise of an evaluation
};

/// A job's course with a fault, or an observer, in it.
class ChangedCourse final : public training::Course {
 public:
  ChangedCourse(std::shared_ptr<const training::Course> course, CourseChanges changes)
      : course_(std::move(course)), changes_(std::move(changes)) {}

  std::vector<training::Stage> stages() const override { return course_->stages(); }
  std::unique_ptr<models::Network> network() const override {
    std::unique_ptr<models::Network> network = course_->network();
    if (changes_.made) changes_.made(*network);
    return network;
  }
  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override {
    if (changes_.batch == 0) return course_->train(stage, feed);
    training::Stage other = stage;
    other.batch = changes_.batch;
    return course_->train(other, {.batch = changes_.batch, .device = feed.device});
  }
  bool evaluates(training::Split split) const override { return course_->evaluates(split); }
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override {
    training::Feed other = feed;
    if (changes_.evaluation_batch > 0) other.batch = changes_.evaluation_batch;
    return course_->evaluation(split, other);
  }
  training::Example example(const Batch& batch, const training::Moment& moment) const override {
    if (changes_.before_example) changes_.before_example(batch);
    training::Example example = course_->example(batch, moment);
    return changes_.example ? changes_.example(batch, std::move(example)) : example;
  }
  training::Output forward(models::Network& network, const training::Example& example,
                           const training::Moment& moment) const override {
    if (changes_.before_forward) changes_.before_forward(network, example);
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
  std::vector<std::string> class_names() const override { return course_->class_names(); }
  training::Selection selected_by() const override { return course_->selected_by(); }

 private:
  std::shared_ptr<const training::Course> course_;
  CourseChanges changes_;
};

/// A recipe, planned and opened, with such changes in each of its courses. It outlives this one.
class ChangedRecipe final : public training::Recipe {
 public:
  ChangedRecipe(const training::Recipe& recipe, CourseChanges changes)
      : recipe_(recipe), changes_(std::move(changes)) {}

  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::vector<training::Member> members() const override { return recipe_.members(); }
  std::unique_ptr<training::Course> begin(const training::Member& member) const override {
    return std::make_unique<ChangedCourse>(recipe_.begin(member), changes_);
  }
  std::map<std::string, std::string> notes() const override { return recipe_.notes(); }

 private:
  const training::Recipe& recipe_;
  CourseChanges changes_;
};

}  // namespace headrace::test
