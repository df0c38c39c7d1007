#pragma once

#include <headrace/models/networks/block_module.h>

#include "refusal.h"
#include "trainer_run.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// What the tests of a lack of memory share: a network whose activations outweigh it, and a run that
// can be compared with another to the last bit.
namespace headrace::training {

/// Of `[N, values]` the mean over 64 scaled copies: 27 KiB of 108 values a row.
struct WidenModule : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    return at::tanh(x.unsqueeze(1) * scales.unsqueeze(1)).mean(1);
  }
  at::Tensor scales = register_parameter("scales", at::linspace(.5, 2.0, 64));
};

/// Blocks without a norm over the batch; few weights.
struct WideModule : models::BlockModule {
  WideModule() {
    for (std::size_t i = 0; i < wide.size(); ++i) {
      wide[i] = register_module(names[i], std::make_shared<WidenModule>());
      add_block(names[i], {wide[i]});
    }
    add_block("head", {dropout.ptr(), linear.ptr()});
  }
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = input.flatten(1);
    for (std::size_t i = 0; i < wide.size(); ++i)
      x = run_block(
          names[i], [one = wide[i]](const at::Tensor& y) { return one->forward(y); }, x);
    return run_block(
        "head", [this](const at::Tensor& y) { return linear->forward(dropout->forward(y)); }, x);
  }

  static constexpr std::array names{"first", "second", "third"};
  std::array<std::shared_ptr<WidenModule>, 3> wide;
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.3));
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(108, 3));
};

/// Draws in its examples, by the place in the data and from LibTorch's generator, or does not: then
/// it has a metric of training, whose counts would be of draws that are not done again.
class WideCourse final : public Course {
 public:
  explicit WideCourse(bool draws) : draws_(draws) {}

  std::unique_ptr<models::Network> network() const override { throw std::logic_error("none"); }
  Pipeline train(const Stage&, const Feed&) const override { throw std::logic_error("none"); }
  Pipeline evaluation(Split, const Feed&) const override { throw std::logic_error("none"); }
  Example example(const Batch& batch, const Moment& moment) const override {
    Example example = example_of_fields(batch, moment.device);
    at::Tensor& image = example.inputs.at("image");
    if (draws_) image = image + moment.random.uniform() + at::rand_like(image);
    return example;
  }
  std::vector<Term> loss(const Output& output, const Example& example,
                         const Moment& moment) const override {
    if (moment.training) most_rows = std::max(most_rows, output.main.size(0));
    return {{.value = models::cross_entropy(output.main, only(example.targets, "target"), {})}};
  }
  std::unique_ptr<Metric> metric(Split split, const TensorMap&) const override {
    if (split == Split::train && draws_) return nullptr;
    return std::make_unique<ClassificationMetric>(3);
  }

  mutable std::int64_t most_rows = 0;  ///< of a micro-batch of the training

 private:
  bool draws_;
};

struct Ladder {
  Stage stage = {.batch = 8, .optimizer = {.learning_rate = 5e-3}, .clip_norm = 1.0, .ema = .9};
  bool draws = true;          ///< dropout, and what WideCourse draws
  bool norms = false;         ///< another network, of no blocks, with norms over the batch
  std::int64_t samples = 50;  ///< the last batch of 8 has two
  headrace::Tail tail = headrace::Tail::shorter;
};

inline Ladder smaller(Ladder setup) {
  setup.stage.batch /= 2;
  setup.stage.accumulation *= 2;
  return setup;
}

/// All that two runs are compared by.
struct Ended {
  TensorMap tensors = {};  ///< weights, moments, averages, loss scale, generators
  std::vector<double> figures = {};
  std::int64_t step = 0;

  bool operator==(const Ended& other) const {
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (!std::ranges::equal(figures, other.figures, same) || step != other.step ||
        tensors.size() != other.tensors.size())
      return false;
    for (const auto& [name, tensor] : tensors)
      if (!at::equal(tensor, other.tensors.at(name))) return false;
    return true;
  }
};

/// A training as a program makes it; its warnings are kept.
class LadderRun {
 public:
  explicit LadderRun(const Ladder& setup, CheckpointStore* store = nullptr)
      : stage(setup.stage),
        course(setup.draws),
        network(setup.norms ? make_network<StatefulModule>(1) : make_network<WideModule>(1)),
        optimizer(parameter_groups(stage, network->parameters()), stage.optimizer),
        train(headrace::Pipeline::from(PatternSource(setup.samples))
                  .order(headrace::Shuffled{.seed = 5})
                  .batch({.size = stage.batch, .tail = setup.tail})
                  .build()),
        validation(validation_loader()),
        trainer({.course = course,
                 .stage = stage,
                 .network = *network,
                 .optimizer = optimizer,
                 .train = train,
                 .validation = &validation,
                 .checkpoints = store},
                {}, callbacks()) {
    network->checkpoint(stage.checkpointed);
    if (!setup.draws) models::of_module<WideModule>(*network).dropout->options.p(0.0);
    at::manual_seed(7);
  }

  Ended end() {
    CHECK((trainer.run().status == RunStatus::finished));
    return ended();
  }

  Ended ended() {
    const Checkpoint state = trainer.checkpoint();
    Ended all{.figures = figures, .step = state.progress.step};
    const std::map<std::string, const TensorMap*> parts{{"weights/", &state.weights},
                                                        {"optimizer/", &state.optimizer},
                                                        {"ema/", &state.ema},
                                                        {"scaler/", &state.scaler},
                                                        {"rng/", &state.rng}};
    for (const auto& [part, tensors] : parts)
      for (const auto& [name, tensor] : *tensors)
        all.tensors.emplace(part + name, tensor.clone());
    return all;
  }

  bool warned_of(const std::string& words) const {
    return std::ranges::any_of(
        warnings, [&](const std::string& one) { return one.find(words) != std::string::npos; });
  }

  Stage stage;
  WideCourse course;
  std::unique_ptr<models::Network> network;
  Optimizer optimizer;
  Loader train;
  Loader validation;
  std::vector<double> figures;  // of steps and epochs, in their order
  std::vector<std::string> warnings;
  std::function<void(const StepReport&)> on_step;
  std::int64_t coming = 1;  ///< number of the step that is next; 0: an evaluation is
  Trainer trainer;

 private:
  TrainerCallbacks callbacks() {
    return {.on_step =
                [this](const StepReport& step) {
                  figures.insert(figures.end(), {static_cast<double>(step.samples), *step.loss,
                                                 *step.gradient_norm});
                  const std::int64_t in_epoch = train.batches_per_epoch() / stage.accumulation;
                  coming = step.step % std::max<std::int64_t>(in_epoch, 1) == 0 ? 0 : step.step + 1;
                  if (on_step) on_step(step);
                },
            .on_epoch =
                [this](const EpochReport& report) {
                  coming = report.step + 1;
                  for (const Figures& all : {report.train, report.validation->figures})
                    for (const auto& [name, value] : all)
                      figures.push_back(value);
                },
            .on_warning = [this](const std::string& words) { warnings.push_back(words); }};
  }
};

/// Tensors that a run makes in that step, its report and what follows it.
inline std::int64_t tensors_in(const Ladder& setup, std::int64_t step,
                               CheckpointStore* store = nullptr) {
  std::int64_t count = 0;
  LadderRun run(setup, store);
  const test::Refusal counting([&](std::uint64_t) {
    count += static_cast<std::int64_t>(run.coming == step);
    return false;
  });
  run.end();
  return count;
}

/// The state behind so many steps, and its figures so far.
inline std::pair<Checkpoint, std::vector<double>> behind(const Ladder& setup, std::int64_t steps) {
  LadderRun run(setup);
  std::stop_source stop;
  run.on_step = [&](const StepReport& report) {
    if (report.step == steps) stop.request_stop();
  };
  if (steps == 0) stop.request_stop();
  run.trainer.run(stop.get_token());
  return {run.trainer.checkpoint(), run.figures};
}

/// A run whose batches come in smaller pieces behind so many steps.
inline Ended cut_behind(const Ladder& setup, std::int64_t steps, int halvings) {
  auto [checkpoint, figures] = behind(setup, steps);
  checkpoint.progress.halvings = halvings;
  LadderRun run(setup);
  run.trainer.restore(checkpoint);
  run.figures = figures;
  return run.end();
}

}  // namespace headrace::training
