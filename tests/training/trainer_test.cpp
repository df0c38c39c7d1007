#include "trainer_run.h"

#include <optional>
#include <utility>

using namespace headrace::training;
using doctest::Approx;

TEST_CASE("a run learns, and reports every step and epoch") {
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  Setup options = three_epochs();
  options.stage.epochs = 12;
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
  CHECK(epochs[0].samples == 50);
  CHECK(figure(epochs[0].train, "accuracy") > 0.0);
  CHECK(epochs[11].validation->samples == 20);
  CHECK(figure(epochs[11].train, "loss") < figure(epochs[0].train, "loss"));
  CHECK((*epochs[11].validation)["accuracy"] > .9);
  CHECK(result.best_metric == epochs[static_cast<std::size_t>(result.best_epoch)].metric);
}

TEST_CASE("the mean loss of an epoch is over its samples and not over its batches") {
  std::vector<StepReport> steps;
  EpochReport epoch;
  Run run(epochs(1), {.on_step = [&](const StepReport& step) { steps.push_back(step); },
                      .on_epoch = [&](const EpochReport& report) { epoch = report; }});
  run.trainer.run();
  double sum = 0.0;
  for (const StepReport& step : steps)
    sum += *step.loss * static_cast<double>(step.samples);
  CHECK(figure(epoch.train, "loss") == Approx(sum / 50));
}

TEST_CASE("the end of an epoch's steps is told of behind the last and before the evaluation") {
  std::string order;
  Setup options = three_epochs();
  options.stage.epochs = 2;
  options.course.metric = [&](Split split) {
    if (split == Split::validation) order += 'v';
    return std::make_unique<ClassificationMetric>(3);
  };
  Run run(options, {.on_step = [&](const StepReport&) { order += 's'; },
                    .on_train_epoch_end = [&] { order += '|'; },
                    .on_epoch = [&](const EpochReport&) { order += 'e'; }});
  run.trainer.run();
  CHECK(order == "sssssss|vesssssss|ve");
}

TEST_CASE("evaluation gives the figures of the whole set whatever its batch size") {
  const auto network = make_network<StatefulModule>(4);
  const headrace::test::FunctionCourse course({.loss = loss_of_rows, .classes = 3});
  std::vector<Evaluation> found;
  for (const std::int64_t batch : {1, 7, 20}) {
    auto loader = headrace::Pipeline::from(PatternSource(20)).batch({.size = batch}).build();
    found.push_back(*evaluate(course, *network, loader));
  }
  CHECK(network->is_training());
  for (const Evaluation& evaluation : found) {
    CHECK(evaluation.samples == 20);
    CHECK(evaluation["loss"] == Approx(found[0]["loss"]).epsilon(1e-6));
    CHECK(evaluation["accuracy"] == found[0]["accuracy"]);
  }
}

TEST_CASE("rows that only fill a batch do not count in an evaluation") {
  const auto network = make_network<StatefulModule>(4);
  auto padded = headrace::Pipeline::from(PatternSource(20))
                    .batch({.size = 8, .tail = headrace::Tail::pad})
                    .build();
  auto plain = headrace::Pipeline::from(PatternSource(20)).batch({.size = 8}).build();
  const headrace::test::FunctionCourse course({.loss = loss_of_rows, .classes = 3});
  const auto with_padding = evaluate(course, *network, padded);
  const auto without = evaluate(course, *network, plain);
  CHECK(with_padding->samples == 20);
  CHECK((*with_padding)["loss"] == Approx((*without)["loss"]).epsilon(1e-6));
  CHECK((*with_padding)["accuracy"] == (*without)["accuracy"]);
}

TEST_CASE("the parts of the step times sum to the wall time") {
  using Clock = std::chrono::steady_clock;
  StepTimes of_steps;
  StepTimes of_epochs;
  double training = 0.0;
  double whole = 0.0;
  // Of each epoch, from its first batch to the last one of its evaluation.
  std::chrono::duration<double> least{0};
  std::optional<Clock::time_point> first;
  Clock::time_point last;
  Setup setup = epochs(2);
  setup.course.unpack = [&, unpack = setup.course.unpack](const headrace::Batch& batch,
                                                          at::Device device) {
    last = Clock::now();
    if (!first) first = last;
    return unpack(batch, device);
  };
  Run run(setup, {.on_step =
                      [&](const StepReport& step) {
                        of_steps += step.times;
                        std::this_thread::sleep_for(std::chrono::milliseconds(4));
                      },
                  .on_epoch =
                      [&](const EpochReport& epoch) {
                        of_epochs += epoch.times;
                        training += epoch.training_seconds;
                        whole += epoch.seconds;
                        least += last - *std::exchange(first, std::nullopt);
                        CHECK(epoch.steps == 7);
                      }});
  const auto start = Clock::now();
  run.trainer.run();
  const std::chrono::duration<double> wall = Clock::now() - start;
  CHECK(of_epochs.wall_s == Approx(training).epsilon(1e-6));
  CHECK(of_epochs.other_s() >= 14 * .004);
  CHECK(of_steps.other_s() >= 12 * .004);
  CHECK(of_steps.wall_s < of_epochs.wall_s);
  CHECK(training < whole);
  CHECK(whole >= least.count());
  CHECK(whole <= wall.count());
}

TEST_CASE("a consumer that waits for slow data says so") {
  const auto network = make_network<StatefulModule>(1);
  Optimizer optimizer(network->parameters(), {});
  auto loader = headrace::Pipeline::from(PatternSource(24))
                    .then([](headrace::Sample&) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    })
                    .batch({.size = 8})
                    .build({.runtime = headrace::Runtime({.threads = 1, .io_threads = 1})});
  StepTimes times;
  const headrace::test::FunctionCourse course({.loss = loss_of_rows});
  const Stage stage;
  Trainer trainer({.course = course,
                   .stage = stage,
                   .network = *network,
                   .optimizer = optimizer,
                   .train = loader},
                  {}, {.on_epoch = [&](const EpochReport& epoch) { times = epoch.times; }});
  trainer.run();
  CHECK(times.data_wait_s > .15);
}

TEST_CASE("a schedule sets the rate of every step") {
  std::vector<double> rates;
  Setup setup;
  setup.stage.optimizer.learning_rate = 1e-3;
  setup.stage.schedule = PolynomialRate{.power = 1.0};
  Run run(setup, {.on_step = [&](const StepReport& step) { rates.push_back(step.learning_rate); }});
  run.trainer.run();
  REQUIRE(rates.size() == 7);
  CHECK(rates[0] == 1e-3);
  CHECK(rates[4] == Approx(1e-3 * 3 / 7));
}

TEST_CASE("a skipped step is counted and said, and the schedule does not go on over it") {
  std::vector<double> rates;
  std::vector<std::string> warnings;
  EpochReport epoch;
  Setup setup;
  setup.stage.schedule = PolynomialRate{.power = 1.0};
  int calls = 0;
  setup.course.loss = [&](const at::Tensor& logits, const at::Tensor& target,
                          const at::Tensor& present) {
    // Finite, with an infinite gradient; the evaluation comes behind the seven steps.
    if (++calls == 3) return (logits.sum() * 0.0).sqrt();
    return loss_of_rows(logits, target, present);
  };
  Run run(setup, {.on_step = [&](const StepReport& step) { rates.push_back(step.learning_rate); },
                  .on_epoch = [&](const EpochReport& report) { epoch = report; },
                  .on_warning = [&](const std::string& message) { warnings.push_back(message); }});
  run.trainer.run();
  REQUIRE(rates.size() == 7);
  CHECK(rates[2] > rates[3] - 1e-12);
  CHECK(rates[3] == rates[2]);
  CHECK(rates[4] < rates[3]);
  CHECK(epoch.skipped == 1);
  CHECK(run.trainer.progress().skipped == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(
      warnings[0].starts_with("[trainer] step 3 (epoch 0): loss and gradients must be finite, got "
                              "a loss of 0.000000 and a gradient norm of "));
  CHECK(warnings[0].find("; the step was skipped, 1 of 3 so far; its samples: sample ") !=
        std::string::npos);
}

TEST_CASE("stages that contradict themselves are refused before a step") {
  const auto refused = [](auto change) {
    Setup setup;
    change(setup.stage);
    CHECK_THROWS_AS(Run{setup}, headrace::ConfigError);
  };
  refused([](Stage& stage) { stage.epochs = 0; });
  refused([](Stage& stage) { stage.accumulation = 0; });
  refused([](Stage& stage) { stage.schedule = CosineRate{.warmup_epochs = 2}; });
  refused([](Stage& stage) { stage.ema = 1.0; });
  refused([](Stage& stage) { stage.unfreeze = {{.at = 1, .patterns = {"conv"}}}; });
  refused([](Stage& stage) {
    stage.cudnn_benchmark = true;
    stage.deterministic = true;
  });
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
  const at::Tensor& input = example.inputs.at("image");
  CHECK(input.sizes() == at::IntArrayRef{2, 3, 4, 5});
  CHECK(input.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(input[0][0][1][1].item<double>() == Approx(2.0));
  CHECK(input[0][1][1][1].item<double>() == Approx(-2.0));
  CHECK(at::equal(example.targets.at("label"), at::arange(2, 4)));
}
