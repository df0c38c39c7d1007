// What follows from losses and gradients that are not finite.
#include "pattern_recipe.h"

#include <limits>
#include <string>
#include <vector>

using namespace headrace::training;

namespace {

constexpr std::int64_t poisoned = 33;

// A run over records of which one holds a value that is not a number.
struct PoisonedRun {
  explicit PoisonedRun(NonFinitePolicy policy, CheckpointStore* store = nullptr,
                       std::int64_t epochs = 1)
      : stage{.epochs = epochs, .non_finite = policy},
        network(make_network<StatefulModule>(1)),
        optimizer(parameter_groups(stage, network->parameters()), stage.optimizer),
        loader(headrace::Pipeline::from(PatternSource(48, poisoned)).batch({.size = 8}).build()),
        trainer({.course = course,
                 .stage = stage,
                 .network = *network,
                 .optimizer = optimizer,
                 .train = loader,
                 .checkpoints = store},
                {.checkpoint_every = 1},
                {.on_epoch = [this](const EpochReport& report) { epoch = report; },
                 .on_bad_step = [this](const BadStep& step) { bad.push_back(step); },
                 .on_warning = [this](const std::string& text) { warnings.push_back(text); }}) {}

  std::string error() {
    try {
      trainer.run();
    } catch (const NumericError& error) {
      return error.what();
    }
    return {};
  }

  headrace::test::FunctionCourse course{{.loss = loss_of_rows}};
  Stage stage;
  std::unique_ptr<headrace::models::Network> network;
  Optimizer optimizer;
  headrace::Loader loader;
  EpochReport epoch;
  std::vector<BadStep> bad;
  std::vector<std::string> warnings;
  Trainer trainer;
};

bool all_finite(const headrace::models::Network& network) {
  return !first_not_finite(snapshot(network)).has_value();
}

}  // namespace

TEST_CASE("a bad step is skipped whole: weights, statistics and mean loss stay finite") {
  PoisonedRun run(SkipStep{});
  CHECK(run.error().empty());
  CHECK(all_finite(*run.network));
  REQUIRE(run.bad.size() == 1);
  CHECK(run.bad[0].step == 5);
  CHECK(run.bad[0].done == "skipped");
  CHECK(std::isnan(run.bad[0].loss));
  REQUIRE(run.bad[0].samples.size() == 8);
  CHECK(run.bad[0].samples[1].index == poisoned);
  CHECK(run.epoch.skipped == 1);
  CHECK(std::isfinite(figure(run.epoch.train, "loss")));
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("its samples: sample 32 (epoch 0, position 32") != std::string::npos);
}

TEST_CASE("too many bad steps in a row end the run") {
  PoisonedRun once(SkipStep{.in_a_row = 1});
  CHECK(once.error().find("the last of 1 such steps in a row") != std::string::npos);
  CHECK(once.bad.at(0).done == "aborted");
  PoisonedRun twice(SkipStep{.in_a_row = 2}, nullptr, 3);
  CHECK(twice.error().empty());
  CHECK(twice.bad.size() == 3);
}

TEST_CASE("an abort names the samples, and leaves the checkpoint before") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  PoisonedRun run(AbortRun{}, &store);
  const std::string error = run.error();
  CHECK(error.starts_with("[trainer] step 5 (epoch 0): loss and gradients must be finite"));
  CHECK(error.find("sample 33 (epoch 0, position 33") != std::string::npos);
  CHECK(store.load_latest()->progress.step <= 4);
}

TEST_CASE("a reload goes back to the newest checkpoint with lower rates, so many times") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  PoisonedRun run(ReloadCheckpoint{.factor = 0.5, .times = 2}, &store);
  const std::string error = run.error();
  // The sample is bad at whatever rate: after two reloads the run ends.
  CHECK(error.starts_with("[trainer] step 5 (epoch 0): loss and gradients must be finite"));
  REQUIRE(run.bad.size() == 3);
  CHECK(run.bad[0].done == "reloaded");
  CHECK(run.bad[1].done == "reloaded");
  CHECK(run.bad[2].done == "aborted");
  REQUIRE(run.warnings.size() == 2);
  CHECK(run.warnings[1].find("with 0.250000 of the rates, reload 2 of 2") != std::string::npos);
  CHECK(run.optimizer.learning_rate() == run.stage.optimizer.learning_rate * 0.25);
}

TEST_CASE("a reload without a checkpoint ends the run") {
  PoisonedRun run(ReloadCheckpoint{});
  CHECK(run.error().starts_with("[trainer] step 5 (epoch 0): loss and gradients must be finite"));
}
