// What follows from losses and gradients that are not finite.
#include "pattern_recipe.h"

#include <limits>
#include <string>
#include <utility>
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

// Where a setup's loss is no number: at so many a micro-batch, once.
auto not_finite_once(std::int64_t micro_batch) {
  return [micro_batch, seen = std::int64_t{0}](const at::Tensor& logits, const at::Tensor& target,
                                               const at::Tensor& present) mutable {
    const at::Tensor loss = loss_of_rows(logits, target, present);
    const bool bad = logits.requires_grad() && ++seen == micro_batch;
    return bad ? loss * std::numeric_limits<double>::quiet_NaN() : loss;
  };
}

std::string error_of(Run& run) {
  try {
    run.trainer.run();
  } catch (const NumericError& error) {
    return error.what();
  }
  return {};
}

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

TEST_CASE("fp16's overflows under a finite loss are none of a policy's steps") {
  // Gradients of the logits overflow until the scale has fallen from 2^16 to 2^12.
  const auto steep = [](const at::Tensor& logits, const at::Tensor&, const at::Tensor&) {
    return logits.to(at::kFloat).mean() * 300.0;
  };
  for (const NonFinitePolicy& policy :
       {NonFinitePolicy(SkipStep{.in_a_row = 2}), NonFinitePolicy(AbortRun{})}) {
    Setup setup;
    setup.stage.precision = Precision::fp16;
    setup.stage.non_finite = policy;
    setup.stage.epochs = 2;
    setup.course.loss = steep;
    std::vector<BadStep> bad;
    Run run(setup, {.on_bad_step = [&](const BadStep& step) { bad.push_back(step); }});
    const RunResult result = run.trainer.run();
    CHECK((result.status == RunStatus::finished));
    CHECK(result.progress.skipped >= 4);
    CHECK(bad.empty());
  }
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

TEST_CASE("a reload before the first checkpoint of its stage ends the run: none is gone back to") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  Run before(epochs(1), {}, &store);
  before.trainer.run();
  Setup setup = epochs(1);
  setup.options.stage = 1;
  setup.stage.non_finite = ReloadCheckpoint{};
  setup.course.loss = not_finite_once(1);
  Run run(setup, {}, &store);
  CHECK(
      error_of(run).starts_with("[trainer] step 1: loss and gradients must be finite before the "
                                "first checkpoint of a stage"));
}

TEST_CASE("a reload waits for the checkpoint that is being written, and goes back to it") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<std::string> warnings;
  Setup setup = epochs(1);
  setup.options.checkpoint_every = 1;
  setup.stage.non_finite = ReloadCheckpoint{};
  setup.course.loss = not_finite_once(3);
  Run run(setup, {.on_warning = [&](const std::string& text) { warnings.push_back(text); }},
          &store);
  headrace::models::of_module<StatefulModule>(*run.network)
      .register_buffer("ballast", at::zeros({16 << 20}));
  const RunResult result = run.trainer.run();
  CHECK((result.status == RunStatus::finished));
  CHECK(result.progress.reloads == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("back to the checkpoint of step 2") != std::string::npos);
}

TEST_CASE("a reload to before parameters joined goes on as a run that never had them") {
  const OneThread one_thread;
  const TemporaryFolder folder;
  const std::filesystem::path away = folder.path() / "away";
  CheckpointStore store(folder.path() / "checkpoints");
  Checkpoint first;
  bool lost = false;
  Setup setup = epochs(3);
  setup.stage.frozen = {"conv"};
  setup.stage.unfreeze = {{.at = 1, .patterns = {"conv"}, .warmup = 2}};
  setup.stage.non_finite = ReloadCheckpoint{.factor = 0.5};
  const Setup plain = setup;
  setup.course.loss = not_finite_once(9);  // in the second epoch
  Run run(setup,
          {.on_epoch =
               [&](const EpochReport& report) {
                 if (report.epoch == 0 && !std::exchange(lost, true))
                   std::filesystem::rename(store.folder(), away);
               },
           .on_checkpoint =
               [&](const std::filesystem::path& path, const Progress& saved) {
                 if (saved.step == 1) first = read_checkpoint(path);
               },
           .on_warning =
               [&](const std::string&) {
                 if (std::filesystem::exists(away)) std::filesystem::rename(away, store.folder());
               }},
          &store);
  const RunResult result = run.trainer.run();
  CHECK((result.status == RunStatus::finished));
  CHECK(result.progress.reloads == 1);

  first.progress.reloads = 1;
  first.progress.rate_factor = 0.5;
  Run resumed(plain);
  resumed.trainer.restore(first);
  CHECK((resumed.trainer.run().progress == result.progress));
  CHECK(run.optimizer.group_count() == resumed.optimizer.group_count());
  check_same_weights(*run.network, *resumed.network);
}

TEST_CASE("steps skipped in a row are counted on in a run that is resumed between them") {
  const OneThread one_thread;
  Setup setup = epochs(8);
  setup.stage.accumulation = 7;  // an epoch's one step
  setup.stage.non_finite = SkipStep{.in_a_row = 5};
  setup.poisoned = poisoned;
  Run whole(setup);
  const std::string error = error_of(whole);
  CHECK(error.starts_with("[trainer] step 5 (epoch 4): "));
  CHECK(error.find("the last of 5 such steps in a row") != std::string::npos);
  for (std::int64_t last = 1; last <= 4; ++last) {
    CAPTURE(last);
    std::stop_source stop;
    Run first(setup, {.on_step = [&](const StepReport& step) {
                if (step.step == last) stop.request_stop();
              }});
    first.trainer.run(stop.get_token());
    Run second(setup, {}, nullptr, 2);
    second.trainer.restore(first.trainer.checkpoint());
    CHECK(error_of(second) == error);
  }
}
