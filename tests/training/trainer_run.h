#pragma once

#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>
#include <headrace/training/trainer/trainer.h>

#include "../support/torch_doctest.h"
#include "function_course.h"
#include "one_thread.h"
#include "small_network.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

// What the tests of the trainer share: a small source, loaders, and a run as a program makes it.
namespace headrace::training {

using test::TemporaryFolder;

// Images whose mean tells their class, with a pattern of their own.
class PatternSource final : public headrace::Source {
 public:
  explicit PatternSource(std::int64_t size, std::int64_t poisoned = -1)
      : size_(size), poisoned_(poisoned) {}

  std::string name() const override { return "patterns"; }
  std::int64_t size() const override { return size_; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("image", headrace::DType::float32, {3, 6, 6}),
            headrace::FieldSpec::fixed("label", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    auto* values = sample.make("image", headrace::DType::float32, {3, 6, 6}).data<float>();
    for (int i = 0; i < 108; ++i)
      values[i] =
          static_cast<float>(index % 3) + .5f * static_cast<float>(std::sin(index * 7 + i * 3));
    if (index == poisoned_) values[0] = std::numeric_limits<float>::quiet_NaN();
    sample.set_scalar<std::int64_t>("label", index % 3);
  }

 private:
  std::int64_t size_;
  std::int64_t poisoned_;
};

inline headrace::Loader train_loader(std::int64_t size = 50, std::int64_t batch = 8,
                                     std::int64_t poisoned = -1,
                                     headrace::LoaderOptions options = {}) {
  return headrace::Pipeline::from(PatternSource(size, poisoned))
      .order(headrace::Shuffled{.seed = 5})
      .batch({.size = batch})
      .build(std::move(options));
}

inline headrace::Loader validation_loader() {
  return headrace::Pipeline::from(PatternSource(20)).batch({.size = 7}).build();
}

inline const test::LossFunction loss_of_rows =
    [](const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present) {
      return headrace::models::cross_entropy(logits, target, {.weights = {.of_samples = present}});
    };

// What a run is made of, beside data and network.
struct Setup {
  Stage stage = {.epochs = 1, .optimizer = {.learning_rate = 5e-3}};
  TrainerOptions options = {};
  test::CourseParts course = {.loss = loss_of_rows};
  headrace::LoaderOptions loader = {};
  std::int64_t poisoned = -1;  // record of the training that is not finite
};

// A network, its optimiser, loaders and trainer, as one run of a program would make them.
struct Run {
  explicit Run(const Setup& setup, TrainerCallbacks callbacks = {},
               CheckpointStore* store = nullptr, std::uint64_t seed = 1)
      : stage(setup.stage),
        course(setup.course),
        network(make_network<StatefulModule>(seed)),
        optimizer(parameter_groups(stage, network->parameters()), stage.optimizer),
        train(train_loader(50, 8, setup.poisoned, setup.loader)),
        validation(validation_loader()),
        trainer({.course = course,
                 .stage = stage,
                 .network = *network,
                 .optimizer = optimizer,
                 .train = train,
                 .validation = &validation,
                 .checkpoints = store},
                setup.options, std::move(callbacks)) {}

  Stage stage;
  test::FunctionCourse course;
  std::unique_ptr<headrace::models::Network> network;
  Optimizer optimizer;
  headrace::Loader train;
  headrace::Loader validation;
  Trainer trainer;
};

inline Setup epochs(std::int64_t count) {
  Setup setup;
  setup.stage.epochs = count;
  return setup;
}

inline Setup three_epochs() {
  return {.stage = {.epochs = 3,
                    .optimizer = {.learning_rate = 5e-3},
                    .schedule = PlateauOptions{.factor = .5, .patience = 0},
                    .early_stopping = EarlyStoppingOptions{.patience = 50}},
          .options = {.identity = {{"config", "a"}}},
          .course = {.loss = loss_of_rows,
                     .classes = 3,
                     .selected_by = {.figure = "accuracy", .goal = Goal::maximum}}};
}

inline void check_same_weights(const headrace::models::Network& a,
                               const headrace::models::Network& b) {
  const TensorMap mine = snapshot(a);
  const TensorMap other = snapshot(b);
  for (const auto& [name, tensor] : mine) {
    CAPTURE(name);
    CHECK(at::equal(tensor, other.at(name)));
  }
}

inline bool same_weights(const headrace::models::Network& a, const headrace::models::Network& b) {
  const TensorMap other = snapshot(b);
  for (const auto& [name, tensor] : snapshot(a))
    if (!at::equal(tensor, other.at(name))) return false;
  return true;
}

}  // namespace headrace::training
