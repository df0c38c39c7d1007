#include "trainer_run.h"

#include <algorithm>

using namespace headrace::training;
using doctest::Approx;

namespace {

// Says what it is told to, once for each evaluation.
class Said final : public Metric {
 public:
  explicit Said(Figures figures) : figures_(std::move(figures)) {}
  void add(const Cases&) override {}
  Figures result() override { return figures_; }

 private:
  Figures figures_;
};

// Draws while it evaluates, as an inference with random crops does.
class Drawing final : public Metric {
 public:
  void add(const Cases&) override { at::rand({3}); }
  Figures result() override { return {{"x", 1.0}}; }
};

}  // namespace

TEST_CASE("a figure that selects or lowers the rate must be one of the validation's") {
  Setup setup = epochs(2);
  setup.course.selected_by = {.figure = "f1"};
  CHECK_THROWS_WITH_AS(
      Run(setup).trainer.run(),
      "[trainer] stage train: what selects must be a figure of the validation, got "
      "\"f1\"; there are loss",
      headrace::ConfigError);
  setup.course.selected_by = {};
  setup.stage.schedule = PlateauOptions{.figure = "auc"};
  CHECK_THROWS_WITH_AS(Run(setup).trainer.run(), doctest::Contains("plateau.figure"),
                       headrace::ConfigError);
}

TEST_CASE("a plateau goes by its own figure, towards its own goal") {
  for (const double step : {1.0, -1.0}) {
    CAPTURE(step);
    Setup setup = epochs(4);
    setup.stage.schedule =
        PlateauOptions{.figure = "recall", .goal = Goal::maximum, .factor = .5, .patience = 0};
    double recall = 5.0;
    setup.course.metric = [&](Split split) -> std::unique_ptr<Metric> {
      if (split == Split::train) return nullptr;
      return std::make_unique<Said>(Figures{{"recall", recall += step}});
    };
    std::vector<double> rates;
    Run run(setup, {.on_epoch = [&](const EpochReport& report) {
              rates.push_back(report.next_learning_rate);
            }});
    run.trainer.run();
    CHECK(rates.back() == Approx(step > 0.0 ? 5e-3 : 5e-3 / 8).epsilon(1e-12));
  }
}

TEST_CASE("of epochs with equal figures the one with the smallest loss is kept") {
  Setup setup = epochs(6);
  setup.course.selected_by = {.figure = "x", .goal = Goal::maximum};
  setup.course.metric = [](Split split) -> std::unique_ptr<Metric> {
    if (split == Split::train) return nullptr;
    return std::make_unique<Drawing>();
  };
  std::vector<double> losses;
  std::vector<std::int64_t> improved;
  const auto on_epoch = [&](const EpochReport& report) {
    losses.push_back(figure(report.validation->figures, "loss"));
    if (report.improved) improved.push_back(report.epoch);
  };
  Run run(setup, {.on_epoch = on_epoch});
  const std::int64_t best = run.trainer.run().best_epoch;
  REQUIRE(losses.size() == 6);
  CHECK(best == std::ranges::min_element(losses) - losses.begin());
  CHECK(best > 0);
  CHECK(improved.size() > 1);

  // Patience looks at the figure alone.
  setup.stage.early_stopping = EarlyStoppingOptions{.patience = 2};
  losses.clear();
  Run patient(setup, {.on_epoch = on_epoch});
  CHECK((patient.trainer.run().status == RunStatus::stopped_early));
  CHECK(losses.size() == 3);
}

TEST_CASE("schedules and patience out of range are refused before a step") {
  const auto refused = [](auto change) {
    Stage stage;
    change(stage);
    CHECK_THROWS_AS(check(stage), headrace::ConfigError);
  };
  refused([](Stage& stage) { stage.schedule = PlateauOptions{.factor = 1.5}; });
  refused([](Stage& stage) { stage.schedule = PlateauOptions{.patience = -1}; });
  refused([](Stage& stage) { stage.early_stopping = EarlyStoppingOptions{.patience = -1}; });
  refused([](Stage& stage) { stage.early_stopping = EarlyStoppingOptions{.min_delta = -.1}; });
  refused([](Stage& stage) { stage.optimizer.learning_rate = -1.0; });
  refused([](Stage& stage) { stage.optimizer.weight_decay = -1.0; });
}

TEST_CASE("a run that goes on with an evaluation reports the rate of the epoch's last step") {
  Setup setup = three_epochs();
  setup.stage.schedule = CosineRate{};
  std::vector<double> rates;
  TrainerCallbacks callbacks;
  callbacks.on_epoch = [&](const EpochReport& report) { rates.push_back(report.learning_rate); };
  Run whole(setup, callbacks);
  whole.trainer.run();
  const double expected = rates.front();
  std::stop_source stop;
  Run first(setup, {.on_train_epoch_end = [&] { stop.request_stop(); }});
  CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
  CHECK(first.trainer.progress().trained);
  rates.clear();
  Run second(setup, callbacks);
  second.trainer.restore(first.trainer.checkpoint());
  second.trainer.run();
  CHECK(rates.front() == expected);
}

TEST_CASE("an evaluation that draws and is broken off has drawn nothing") {
  const OneThread one_thread;
  Setup setup = three_epochs();
  setup.course.metric = [](Split split) -> std::unique_ptr<Metric> {
    if (split == Split::train) return nullptr;
    return std::make_unique<Drawing>();
  };
  setup.course.selected_by = {.figure = "x"};
  Run whole(setup, {}, nullptr, 1);
  at::manual_seed(5);
  whole.trainer.run();

  std::stop_source stop;
  std::int64_t seen = 0;
  Setup stopped = setup;
  stopped.course.unpack = [&, unpack = setup.course.unpack](const headrace::Batch& batch,
                                                            at::Device device) {
    if (++seen == 9) stop.request_stop();  // seven batches to train on, the second to evaluate
    return unpack(batch, device);
  };
  Run first(stopped, {}, nullptr, 1);
  at::manual_seed(5);
  CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
  CHECK(first.trainer.progress().trained);
  const Checkpoint cut = first.trainer.checkpoint();
  Run second(setup, {}, nullptr, 99);
  second.trainer.restore(cut);
  second.trainer.run();
  check_same_weights(*whole.network, *second.network);
}

TEST_CASE("an epoch is told of before it is saved, so that no end of the process loses it") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<std::string> said;
  TrainerCallbacks callbacks;
  callbacks.on_epoch = [&](const EpochReport& report) {
    said.push_back("epoch " + std::to_string(report.epoch));
  };
  callbacks.on_checkpoint = [&](const std::filesystem::path&, const Progress& progress) {
    said.push_back("saved " + std::to_string(progress.epoch));
  };
  Run(epochs(2), callbacks, &store).trainer.run();
  REQUIRE(said.size() == 5);
  const auto place = [&](const char* word) { return std::ranges::find(said, word) - said.begin(); };
  CHECK(place("saved 0") == 0);
  CHECK(place("epoch 0") < place("saved 1"));
  CHECK(place("epoch 1") < place("saved 2"));
  CHECK(place("saved 2") == 4);
}
