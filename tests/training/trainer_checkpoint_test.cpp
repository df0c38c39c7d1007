#include "trainer_run.h"

using namespace headrace::training;

namespace {

// "accuracy" as planned, evaluation after evaluation, which is fitted as "threshold", too.
class PlannedMetric final : public Metric {
 public:
  explicit PlannedMetric(double value) : value_(value) {}
  void add(const Cases&) override {}
  Figures result() override { return {{"accuracy", value_}}; }
  TensorMap fitted() const override { return {{"threshold", at::full({}, value_, at::kDouble)}}; }

 private:
  double value_;
};

auto planned_metric(std::vector<double>& given, std::vector<double> plan) {
  return [&given, plan = std::move(plan)](Split split) -> std::unique_ptr<Metric> {
    if (split == Split::train) return nullptr;
    given.push_back(plan.at(given.size()));
    return std::make_unique<PlannedMetric>(given.back());
  };
}

}  // namespace

TEST_CASE("the best weights are kept apart from the last") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<double> metrics;
  Setup options = three_epochs();
  options.stage.epochs = 6;
  options.stage.early_stopping = EarlyStoppingOptions{.patience = 2};
  options.course.metric = planned_metric(metrics, {.5, 1.0, .5, .5, .5, .5});
  options.options.notes = {{"task", "classification"}};
  Run run(options, {}, &store);
  const RunResult result = run.trainer.run();
  CHECK((result.status == RunStatus::stopped_early));
  CHECK(result.best_epoch == 1);
  CHECK(metrics.size() == 4);
  const BestWeights best = read_best_weights(store.best_path());
  CHECK(best.epoch == 1);
  CHECK(best.selected_by == "accuracy");
  CHECK(figure(best.validation, "accuracy") == 1.0);
  CHECK(figure(best.validation, "loss") > 0.0);
  CHECK(best.fitted.at("threshold").item<double>() == 1.0);
  CHECK(best.notes.at("task") == "classification");
  CHECK_FALSE(
      at::equal(best.weights.at("linear.weight"), snapshot(*run.network).at("linear.weight")));

  Run again(options, {}, nullptr, 99);
  again.trainer.restore(*store.load_latest());
  CHECK(again.trainer.progress().epoch == 4);
  CHECK((again.trainer.run().status == RunStatus::stopped_early));
  CHECK(again.trainer.progress().epoch == 4);
}

TEST_CASE("a figure that is good enough ends the stage, and does not begin again") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<double> metrics;
  Setup options = three_epochs();
  options.stage.epochs = 6;
  options.stage.early_stopping = EarlyStoppingOptions{.patience = 0, .enough = 1.0};
  options.course.metric = planned_metric(metrics, {.5, 1.0, .5, .5, .5, .5});
  Run run(options, {}, &store);
  CHECK((run.trainer.run().status == RunStatus::stopped_early));
  CHECK(metrics.size() == 2);
  Run again(options, {}, nullptr, 99);
  again.trainer.restore(*store.load_latest());
  CHECK((again.trainer.run().status == RunStatus::stopped_early));
  CHECK(again.trainer.progress().epoch == 2);
}

TEST_CASE("a figure that is better by less than min_delta is still the best") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<double> metrics;
  Setup options = three_epochs();
  options.stage.early_stopping = EarlyStoppingOptions{.patience = 2, .min_delta = .1};
  options.course.metric = planned_metric(metrics, {.5, .55, .52});
  Run run(options, {}, &store);
  CHECK(run.trainer.run().best_epoch == 1);
  CHECK(figure(read_best_weights(store.best_path()).validation, "accuracy") == .55);
}

TEST_CASE("best weights that cannot be written are warned of and written later") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  std::filesystem::create_directory(store.best_path());  // nothing can take its place
  std::vector<std::string> warnings;
  std::vector<double> metrics;
  Setup options = three_epochs();
  options.course.metric = planned_metric(metrics, {1.0, .5, .4});
  Run run(options,
          {.on_warning =
               [&](const std::string& message) {
                 warnings.push_back(message);
                 std::filesystem::remove(store.best_path());
               }},
          &store);
  CHECK(run.trainer.run().best_epoch == 0);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("training goes on") != std::string::npos);
  CHECK(read_best_weights(store.best_path()).epoch == 0);
}

TEST_CASE("the first step writes a checkpoint, and others follow at their interval") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<std::int64_t> saved;
  Setup options = three_epochs();
  options.stage.epochs = 1;
  options.options.checkpoint_every = 3;
  Run run(options,
          {.on_checkpoint = [&](const auto&,
                                const Progress& progress) { saved.push_back(progress.step); }},
          &store);
  run.trainer.run();
  REQUIRE(saved.size() >= 3);
  CHECK(saved[0] == 1);
  CHECK(saved[1] == 3);
  CHECK(saved[2] >= 6);  // behind the one before, which may still be written
  CHECK(saved.back() == 7);
}

TEST_CASE("training goes on while a checkpoint is written, and the next one waits for it") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<std::int64_t> saved;
  std::int64_t step_of_telling = 0;
  std::int64_t last = 0;
  Setup options = three_epochs();
  options.options.checkpoint_every = 1;
  Run run(options,
          {.on_step = [&](const StepReport& step) { last = step.step; },
           .on_checkpoint =
               [&](const auto&, const Progress& progress) {
                 saved.push_back(progress.step);
                 if (progress.step == 2) step_of_telling = last;
               }},
          &store);
  // Much to write, and nothing to compute with it.
  headrace::models::of_module<StatefulModule>(*run.network)
      .register_buffer("ballast", at::zeros({16 << 20}));
  run.trainer.run();
  CHECK(step_of_telling > 2);
  CHECK(std::ranges::is_sorted(saved));
  CHECK(saved.size() < 21);
  CHECK((std::vector(saved.begin(), saved.begin() + 2) == std::vector<std::int64_t>{1, 2}));
  CHECK(saved.back() == 21);
  CHECK(store.load_latest()->progress.epoch == 3);
}

TEST_CASE("checkpoints that cannot be written are warned of, and end the run when too many") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  std::vector<std::string> warnings;
  std::int64_t last = 0;
  Setup options = three_epochs();
  options.options.checkpoint_every = 1;
  options.options.failed_saves = 3;
  Run run(options,
          {.on_step =
               [&](const StepReport& step) {
                 last = step.step;
                 if (step.step == 2) std::filesystem::remove_all(store.folder());
               },
           .on_warning = [&](const std::string& message) { warnings.push_back(message); }},
          &store);
  CHECK_THROWS_AS(run.trainer.run(), CheckpointError);
  CHECK(last >= 7);  // each failure puts the next one off
  // The third ends the run, or where only the save at the end finds it, that save does.
  CHECK((warnings.size() == 2 || (warnings.size() == 3 && last == 21)));
  for (const std::string& warning : warnings)
    CHECK(warning.find("training goes on") != std::string::npos);
}

TEST_CASE("weights that are not finite are never saved, and the good checkpoint stays") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  Setup setup;
  setup.options.checkpoint_every = 4;
  Run* planted = nullptr;
  Run run(setup,
          {.on_step =
               [&](const StepReport& step) {
                 if (step.step != 3) return;
                 // What a batch norm remembers of a bad batch: no gradient, no loss tells.
                 for (const auto& item : planted->network->buffers())
                   if (item.name == "norm.running_var")
                     item.tensor.fill_(std::numeric_limits<double>::infinity());
               }},
          &store);
  planted = &run;
  std::string message;
  try {
    run.trainer.run();
  } catch (const NumericError& error) {
    message = error.what();
  }
  CHECK(message.starts_with(
      "[trainer] step 4: all weights must be finite to be saved, \"norm.running_var\" holds"));
  CHECK(store.load_latest()->progress.step == 1);
}

TEST_CASE("a loss that is not a number ends the run and leaves the good checkpoint") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  const auto network = make_network<StatefulModule>(1);
  Optimizer optimizer(network->parameters(), {});
  auto loader = headrace::Pipeline::from(PatternSource(50, 33)).batch({.size = 8}).build();
  const headrace::test::FunctionCourse course({.loss = loss_of_rows});
  const Stage stage{.non_finite = AbortRun{}};
  Trainer trainer({.course = course,
                   .stage = stage,
                   .network = *network,
                   .optimizer = optimizer,
                   .train = loader,
                   .checkpoints = &store},
                  {});
  std::string message;
  try {
    trainer.run();
  } catch (const NumericError& error) {
    message = error.what();
  }
  CHECK(message.starts_with(
      "[trainer] step 5 (epoch 0): loss and gradients must be finite, got a loss of nan"));
  CHECK(message.find("look at sample 32 (epoch 0, position 32") != std::string::npos);
  CHECK(message.ends_with(" and 5 more"));
  CHECK(store.load_latest()->progress.step == 1);
}
