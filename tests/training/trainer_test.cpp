#include "trainer_run.h"

using namespace headrace::training;
using doctest::Approx;

TEST_CASE("a run learns, and reports every step and epoch") {
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  TrainerOptions options = three_epochs();
  options.epochs = 12;
  Run run(options, {.on_step = [&](const StepReport& step) { steps.push_back(step); },
                    .on_epoch = [&](const EpochReport& epoch) { epochs.push_back(epoch); }});
  const RunResult result = run.trainer.run();
  CHECK((result.status == RunStatus::finished));
  REQUIRE(steps.size() == 84);
  REQUIRE(epochs.size() == 12);
  CHECK(steps[6].samples == 2);
  CHECK(steps[6].epoch_samples == 50);
  CHECK(steps[7].epoch == 1);
  CHECK(steps.back().step == 84);
  CHECK(epochs[0].train_confusion->total() == 50);
  CHECK(epochs[11].validation->samples == 20);
  CHECK(epochs[11].train_loss < epochs[0].train_loss);
  CHECK(epochs[11].validation->accuracy() > .9);
  CHECK(result.best_metric == epochs[static_cast<std::size_t>(result.best_epoch)].metric);
}

TEST_CASE("the mean loss of an epoch is over its samples and not over its batches") {
  std::vector<StepReport> steps;
  EpochReport epoch;
  Run run({.epochs = 1}, {.on_step = [&](const StepReport& step) { steps.push_back(step); },
                          .on_epoch = [&](const EpochReport& report) { epoch = report; }});
  run.trainer.run();
  double sum = 0.0;
  for (const StepReport& step : steps)
    sum += *step.loss * static_cast<double>(step.samples);
  CHECK(epoch.train_loss == Approx(sum / 50));
}

TEST_CASE("the end of an epoch's steps is told of behind the last and before the evaluation") {
  std::string order;
  TrainerOptions options = three_epochs();
  options.epochs = 2;
  options.on_validation_logits = [&](const headrace::Batch& batch, const Example&,
                                     const at::Tensor&) {
    if (batch.number() == 0) order += 'v';
  };
  Run run(options, {.on_step = [&](const StepReport&) { order += 's'; },
                    .on_train_epoch_end = [&] { order += '|'; },
                    .on_epoch = [&](const EpochReport&) { order += 'e'; }});
  run.trainer.run();
  CHECK(order == "sssssss|vesssssss|ve");
}

TEST_CASE("evaluation gives the figures of the whole set whatever its batch size") {
  const auto network = make_network<StatefulModule>(4);
  std::vector<Evaluation> found;
  for (const std::int64_t batch : {1, 7, 20}) {
    auto loader = headrace::Pipeline::from(PatternSource(20)).batch({.size = batch}).build();
    found.push_back(*evaluate(*network, loader, unpack_images(), loss_of_rows, {.classes = 3}));
  }
  CHECK(network->is_training());
  for (const Evaluation& evaluation : found) {
    CHECK(evaluation.samples == 20);
    CHECK(evaluation.loss == Approx(found[0].loss).epsilon(1e-6));
    CHECK(evaluation.accuracy() == found[0].accuracy());
  }
}

TEST_CASE("rows that only fill a batch do not count in an evaluation") {
  const auto network = make_network<StatefulModule>(4);
  auto padded = headrace::Pipeline::from(PatternSource(20))
                    .batch({.size = 8, .tail = headrace::Tail::pad})
                    .build();
  auto plain = headrace::Pipeline::from(PatternSource(20)).batch({.size = 8}).build();
  const auto with_padding =
      evaluate(*network, padded, unpack_images(), loss_of_rows, {.classes = 3});
  const auto without = evaluate(*network, plain, unpack_images(), loss_of_rows, {.classes = 3});
  CHECK(with_padding->samples == 20);
  CHECK(with_padding->loss == Approx(without->loss).epsilon(1e-6));
  CHECK(with_padding->confusion->total() == 20);
}

TEST_CASE("the parts of the step times sum to the wall time") {
  StepTimes of_steps;
  StepTimes of_epochs;
  double training = 0.0;
  double whole = 0.0;
  Run run({.epochs = 2}, {.on_step =
                              [&](const StepReport& step) {
                                of_steps += step.times;
                                std::this_thread::sleep_for(std::chrono::milliseconds(4));
                              },
                          .on_epoch =
                              [&](const EpochReport& epoch) {
                                of_epochs += epoch.times;
                                training += epoch.training_seconds;
                                whole += epoch.seconds;
                                CHECK(epoch.steps == 7);
                              }});
  const auto start = std::chrono::steady_clock::now();
  run.trainer.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  CHECK(of_epochs.total() == Approx(training).epsilon(1e-6));
  CHECK(of_epochs.other >= 14 * .004);
  CHECK(of_steps.other >= 12 * .004);
  CHECK(of_steps.total() < of_epochs.total());
  CHECK(training < whole);
  CHECK(whole == Approx(wall.count()).epsilon(.05));
}

TEST_CASE("a consumer that waits for slow data says so") {
  const auto network = make_network<StatefulModule>(1);
  AdamW optimizer(network->parameters(), {});
  auto loader = headrace::Pipeline::from(PatternSource(24))
                    .then([](headrace::Sample&) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    })
                    .batch({.size = 8})
                    .build({.runtime = headrace::Runtime({.threads = 1, .io_threads = 1})});
  StepTimes times;
  Trainer trainer({.network = *network,
                   .optimizer = optimizer,
                   .loss = loss_of_rows,
                   .unpack = unpack_images(),
                   .train = loader},
                  {.epochs = 1},
                  {.on_epoch = [&](const EpochReport& epoch) { times = epoch.times; }});
  trainer.run();
  CHECK(times.data_wait > .15);
}

TEST_CASE("the best weights are kept apart from the last") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<double> metrics;
  TrainerOptions options = three_epochs();
  options.epochs = 6;
  options.metric = [&](const Evaluation&) {
    metrics.push_back(metrics.size() == 1 ? 1.0 : .5);
    return metrics.back();
  };
  options.early_stopping = EarlyStoppingOptions{.patience = 2};
  Run run(options, {}, &store);
  const RunResult result = run.trainer.run();
  CHECK((result.status == RunStatus::stopped_early));
  CHECK(result.best_epoch == 1);
  CHECK(metrics.size() == 4);
  const TensorFile best = read_safetensors(store.best_path());
  CHECK(best.metadata.at("epoch") == "1");
  CHECK_FALSE(
      at::equal(best.tensors.at("linear.weight"), snapshot(*run.network).at("linear.weight")));

  Run again(options, {}, nullptr, 99);
  again.trainer.restore(*store.load_latest());
  CHECK(again.trainer.progress().epoch == 4);
  CHECK((again.trainer.run().status == RunStatus::stopped_early));
  CHECK(again.trainer.progress().epoch == 4);
}

TEST_CASE("the first step writes a checkpoint, and others follow at their interval") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  std::vector<std::int64_t> saved;
  TrainerOptions options = three_epochs();
  options.epochs = 1;
  options.checkpoint_every = 3;
  Run run(options,
          {.on_checkpoint = [&](const auto&,
                                const Progress& progress) { saved.push_back(progress.step); }},
          &store);
  run.trainer.run();
  CHECK((saved == std::vector<std::int64_t>{1, 3, 6, 7}));
}

TEST_CASE("checkpoints that cannot be written are warned of, and end the run when too many") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  std::vector<std::string> warnings;
  std::int64_t last = 0;
  TrainerOptions options = three_epochs();
  options.checkpoint_every = 1;
  options.failed_saves = 3;
  Run run(options,
          {.on_step =
               [&](const StepReport& step) {
                 last = step.step;
                 if (step.step == 2) std::filesystem::remove_all(store.folder());
               },
           .on_warning = [&](const std::string& message) { warnings.push_back(message); }},
          &store);
  CHECK_THROWS_AS(run.trainer.run(), CheckpointError);
  CHECK(last == 4);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].find("training goes on") != std::string::npos);
}

TEST_CASE("a schedule sets the rate of every step") {
  std::vector<double> rates;
  Run run({.epochs = 1,
           .schedule = [](std::int64_t step) { return 1e-3 / static_cast<double>(step + 1); }},
          {.on_step = [&](const StepReport& step) { rates.push_back(step.learning_rate); }});
  run.trainer.run();
  REQUIRE(rates.size() == 7);
  CHECK(rates[0] == 1e-3);
  CHECK(rates[4] == Approx(2e-4));
}

TEST_CASE("a loss that is not a number ends the run and leaves the good checkpoint") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  const auto network = make_network<StatefulModule>(1);
  AdamW optimizer(network->parameters(), {});
  auto loader = headrace::Pipeline::from(PatternSource(50, 33)).batch({.size = 8}).build();
  Trainer trainer({.network = *network,
                   .optimizer = optimizer,
                   .loss = loss_of_rows,
                   .unpack = unpack_images(),
                   .train = loader,
                   .checkpoints = &store},
                  {.epochs = 1});
  std::string message;
  try {
    trainer.run();
  } catch (const NumericError& error) {
    message = error.what();
  }
  CHECK(message.starts_with(
      "[trainer] step 5 (epoch 0, before sample 40): the loss must be finite, got"));
  CHECK(store.load_latest()->progress.step == 1);
}

TEST_CASE("options that contradict each other are refused before the first step") {
  CHECK_THROWS_AS(Run({.epochs = 0}), headrace::ConfigError);
  CHECK_THROWS_AS(Run({.accumulation = 0}), headrace::ConfigError);
  CHECK_THROWS_AS(Run({.schedule = [](std::int64_t) { return 1.0; }, .plateau = PlateauOptions{}}),
                  headrace::ConfigError);
}

TEST_CASE("integer images of rows in HWC become channels-last floats with their statistics") {
  const auto unpack = unpack_images({.rows_are_hwc = true,
                                     .mean = {.5, .5, .5},
                                     .stddev = {.25, .25, .25},
                                     .channels_last = true});
  class Bytes final : public headrace::Source {
   public:
    std::string name() const override { return "bytes"; }
    std::int64_t size() const override { return 2; }
    headrace::Schema fields() const override {
      return {headrace::FieldSpec::fixed("image", headrace::DType::uint8, {4, 5, 3}),
              headrace::FieldSpec::fixed("label", headrace::DType::uint8, {4})};
    }
    void read(std::int64_t index, headrace::Sample& sample) const override {
      auto* values = sample.make("image", headrace::DType::uint8, {4, 5, 3}).data<std::uint8_t>();
      for (int i = 0; i < 60; ++i)
        values[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 255 : 0);
      auto* label = sample.make("label", headrace::DType::uint8, {4}).data<std::uint8_t>();
      for (int i = 0; i < 4; ++i)
        label[i] = i == index + 2;
    }
  };
  auto loader = headrace::Pipeline::from(Bytes{}).batch({.size = 2}).build();
  const headrace::NextBatch next = loader.next();
  const Example example = unpack(next.batch, at::kCPU);
  CHECK(example.input.sizes() == at::IntArrayRef{2, 3, 4, 5});
  CHECK(example.input.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(example.input[0][0][1][1].item<double>() == Approx(2.0));
  CHECK(example.input[0][1][1][1].item<double>() == Approx(-2.0));
  CHECK(at::equal(example.target, at::arange(2, 4)));
}
