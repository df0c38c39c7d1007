// What a stage is said to take before it begins, beside what its training takes then.
#include <headrace/monitor/memory/memory_line.h>
#include <headrace/tests/support/drop_pages_of_files.h>
#include <headrace/training/memory/memory_probe.h>
#include <headrace/training/memory/tensor_memory.h>
#include <headrace/training/metrics/label_metrics.h>

#include "pattern_recipe.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

using namespace headrace::training;
using headrace::monitor::MemoryLine;
using headrace::monitor::MemoryPoint;

namespace {

// Wide enough that its activations are most of what it takes.
struct WideMapsModule : headrace::models::BlockModule {
  WideMapsModule() {
    add_block("body", {conv.ptr(), norm.ptr()});
    add_block("head", {linear.ptr()});
  }
  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor maps = run_block(
        "body", [this](const at::Tensor& x) { return at::relu(norm->forward(conv->forward(x))); },
        input);
    return linear->forward(maps.mean({2, 3}));
  }
  torch::nn::Conv2d conv =
      register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 256, 3).padding(1)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(256));
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(256, 3));
};

struct Planned {
  StateBytes state;
  MemoryLine training;
  MemoryLine evaluation;

  std::uint64_t at(const Stage& stage) const {
    return std::max(training.at(stage.batch), evaluation.at(evaluation_batch(stage))) +
           state.checkpoint;
  }
};

Planned planned(const Recipe& recipe, const Stage& stage) {
  const auto course = recipe.begin(recipe.members().front());
  StageProbe probe(*course, stage, {.loaders = {.prefetch = 1}});
  std::vector<MemoryPoint> training;
  std::vector<MemoryPoint> evaluation;
  for (const std::int64_t rows : {2, 4, 6}) {
    const ProbePoint point = probe.measure(rows, rows + 1);
    CHECK(point.step_s > 0.0);
    CHECK(point.step_s < 60.0);
    training.push_back({.rows = rows, .bytes = point.training});
    evaluation.push_back({.rows = rows + 1, .bytes = point.evaluation});
  }
  return {.state = probe.state(),
          .training = MemoryLine(training),
          .evaluation = MemoryLine(evaluation)};
}

// Of a whole training with checkpoints, from its second stage's start on where there are two.
std::uint64_t taken(const PatternRecipe& recipe) {
  const TemporaryFolder folder;
  MemberOptions options = in(folder);
  options.checkpoint_every = 2;
  const std::uint64_t before = tensor_memory(at::kCPU).allocated;
  reset_peak_tensor_memory(at::kCPU);
  train_member(recipe, recipe.members().front(), options);
  return tensor_memory(at::kCPU).peak - before;
}

class WideRecipe final : public PatternRecipe {
 public:
  explicit WideRecipe(const Stage& stage) : PatternRecipe({stage}) {
    fresh = fresh_network<WideMapsModule>;
  }
};

void check_within_5_percent(const Stage& stage) {
  count_tensor_memory();
  const WideRecipe recipe(stage);
  const auto said = static_cast<double>(planned(recipe, stage).at(stage));
  const auto found = static_cast<double>(taken(recipe));
  CHECK(said == doctest::Approx(found).epsilon(0.05));
}

}  // namespace

TEST_CASE("a stage takes what its probe has said of a batch that was not tried") {
  check_within_5_percent({.epochs = 2, .batch = 24, .evaluation_batch = 10});
}

TEST_CASE("so it does with averages, accumulation, clipping and checkpointed blocks") {
  check_within_5_percent({.epochs = 2,
                          .batch = 12,
                          .evaluation_batch = 10,
                          .accumulation = 2,
                          .clip_norm = 1.0,
                          .ema = 0.9,
                          .checkpointed = {"body"}});
}

TEST_CASE("so it does where the evaluation takes more than a step") {
  check_within_5_percent({.epochs = 2, .batch = 4, .evaluation_batch = 20});
}

TEST_CASE("what a stage unfreezes later is counted from the start") {
  count_tensor_memory();
  Stage frozen{.epochs = 9, .batch = 16, .frozen = {"conv", "norm"}};
  const Planned without = planned(WideRecipe(frozen), frozen);
  frozen.unfreeze = {{.at = 5, .patterns = {"conv"}}};
  const Planned later = planned(WideRecipe(frozen), frozen);
  CHECK(later.state.moments > without.state.moments);
  CHECK(later.training.per_row() > 1.2 * without.training.per_row());
}

TEST_CASE("a stage's state is counted as what it is") {
  count_tensor_memory();
  const Stage stage{.epochs = 1, .batch = 4, .ema = 0.9};
  const StateBytes state = planned(WideRecipe(stage), stage).state;
  constexpr std::uint64_t values = 3 * 256 * 9 + 256 + 2 * 256 + 256 * 3 + 3;
  constexpr std::uint64_t statistics = 2 * 256 * 4 + 8;
  constexpr std::uint64_t tensors = 6;  // each with a count of its steps
  CHECK(state.weights == 4 * values + statistics);
  CHECK(state.gradients == 4 * values);
  CHECK(state.moments == 8 * values + 4 * tensors);
  CHECK(state.average == state.weights);
  CHECK(state.checkpoint == 2 * state.weights + state.moments);
}

TEST_CASE("without a validation the test's evaluation counts") {
  count_tensor_memory();
  const Stage stage{.epochs = 1, .batch = 4};
  WideRecipe recipe(stage);
  recipe.without = {Split::validation};
  const auto course = recipe.begin(recipe.members().front());
  StageProbe probe(*course, stage, {});
  const ProbePoint point = probe.measure(4, 16);
  CHECK(point.evaluation_rows == 16);
  CHECK(point.evaluation > point.training);
}

TEST_CASE("a stage without a validation and a test takes no evaluation") {
  count_tensor_memory();
  const Stage stage{.epochs = 1, .batch = 4};
  WideRecipe recipe(stage);
  recipe.without = {Split::validation, Split::test};
  const auto course = recipe.begin(recipe.members().front());
  StageProbe probe(*course, stage, {});
  const ProbePoint point = probe.measure(4, 4);
  CHECK(point.evaluation == 0);
  CHECK(point.evaluation_rows == 0);
  CHECK(point.training > 0);
}

namespace {

// Its figures need the scores of all rows at once.
class KeepingCourse final : public PatternCourse {
 public:
  using PatternCourse::PatternCourse;
  std::unique_ptr<Metric> metric(Split, const TensorMap&) const override {
    return std::make_unique<SingleLabelMetric>(SingleLabelOptions{.classes = 3});
  }
};

std::uint64_t kept_of_row(const Course& course, const Stage& stage, std::int64_t rows) {
  StageProbe probe(course, stage, {.loaders = {.prefetch = 1}});
  return probe.measure(rows, rows).kept_of_row;
}

}  // namespace

TEST_CASE("what figures keep of each row is measured, and what they sum up is not taken for it") {
  count_tensor_memory();
  const Stage stage{.epochs = 1, .batch = 8};
  KeepingCourse keeping({stage}, {.name = "a"});
  keeping.fresh = fresh_network<WideMapsModule>;
  constexpr std::uint64_t scores = 3 * 4;
  constexpr std::uint64_t target = 8;
  constexpr std::uint64_t present = 1;
  const auto kept = static_cast<double>(kept_of_row(keeping, stage, 64));
  // malloc gives a little more than it is asked for, and not always the same.
  CHECK(kept == doctest::Approx(scores + target + present).epsilon(0.1));
  CHECK(kept_of_row(*WideRecipe(stage).begin({.name = "a"}), stage, 64) <= 1);
}

namespace {

// Waits for records that placeholders are not.
class WaitingInference final : public Inference {
 public:
  std::vector<Cases> add(Example, const headrace::Batch&, const Predict&) override {
    throw headrace::DataError("other records");
  }
  std::vector<Cases> finish() override { throw headrace::DataError("records are missing"); }
};

class WaitingCourse final : public PatternCourse {
 public:
  using PatternCourse::PatternCourse;
  std::unique_ptr<Inference> inference(Split) const override {
    return std::make_unique<WaitingInference>();
  }
};

}  // namespace

TEST_CASE("placeholders that an inference puts together to nothing are seen by the network") {
  count_tensor_memory();
  const Stage stage{.epochs = 1, .batch = 4};
  WaitingCourse waiting({stage}, {.name = "a"});
  waiting.fresh = fresh_network<WideMapsModule>;
  waiting.selection = {.figure = "accuracy", .goal = Goal::maximum};
  const auto evaluation = [&](const Course& course) {
    StageProbe probe(course, stage, {.loaders = {.prefetch = 1}});
    return static_cast<double>(probe.measure(4, 16).evaluation);
  };
  const double plain = evaluation(*WideRecipe(stage).begin({.name = "a"}));
  CHECK(evaluation(waiting) == doctest::Approx(plain).epsilon(0.05));
}

namespace {

class WatchedMetric final : public Metric {
 public:
  explicit WatchedMetric(std::function<void()> on_batch) : on_batch_(std::move(on_batch)) {}
  void add(const Cases&) override { on_batch_(); }
  Figures result() override { return {}; }

 private:
  std::function<void()> on_batch_;
};

// Of steps of four rows, and says of each batch that is evaluated.
class WatchedCourse final : public PatternCourse {
 public:
  explicit WatchedCourse(std::function<void()> on_batch)
      : PatternCourse({{.epochs = 1, .batch = 4}}, {.name = "a"}), on_batch_(std::move(on_batch)) {
    fresh = fresh_network<WideMapsModule>;
    selection = {.figure = "accuracy", .goal = Goal::maximum};
  }
  std::unique_ptr<Metric> metric(Split split, const TensorMap& fitted) const override {
    if (split == Split::train) return PatternCourse::metric(split, fitted);
    return std::make_unique<WatchedMetric>(on_batch_);
  }

 private:
  std::function<void()> on_batch_;
};

}  // namespace

TEST_CASE("pages of libraries that the kernel takes meanwhile are not counted as the stage's") {
  count_tensor_memory();
  std::uint64_t dropped = 0;
  const WatchedCourse course(
      [&] { dropped = std::max(dropped, headrace::test::drop_pages_of_files()); });
  const Stage stage = course.stages().front();
  StageProbe probe(course, stage, {.loaders = {.prefetch = 1}});
  const ProbePoint point = probe.measure(4, 4);
  // Far more than the stage takes beside tensors.
  REQUIRE(dropped > 20ULL << 20);
  CHECK(point.beside < dropped / 2);
}

TEST_CASE("a size that is too large is not gone on with in smaller batches") {
  count_tensor_memory();
  std::int64_t batches = 0;
  const WatchedCourse course([&] { ++batches; });
  const Stage stage = course.stages().front();
  StageProbe probe(course, stage, {.loaders = {.prefetch = 1}});
  const std::uint64_t four = probe.measure(4, 4).training;
  REQUIRE(batches > 0);
  batches = 0;
  limit_cpu_tensors(tensor_memory(at::kCPU).allocated + 2 * four);
  CHECK_THROWS_AS(probe.measure(64, 4), c10::OutOfMemoryError);
  limit_cpu_tensors(0);
  CHECK(batches == 0);
}

TEST_CASE("the end of an evaluation takes at most four times what its figures keep") {
  count_tensor_memory();
  constexpr std::int64_t classes = 10;
  SingleLabelMetric metric({.classes = classes});
  const std::uint64_t before = tensor_memory(at::kCPU).allocated;
  for (int batch = 0; batch < 200; ++batch) {
    const at::Tensor target = at::arange(64).remainder(classes);
    metric.add({.scores = at::softmax(at::randn({64, classes}), 1),
                .example = {.targets = {{"target", target}}},
                .are_rows = true});
  }
  const std::uint64_t kept = tensor_memory(at::kCPU).allocated - before;
  CHECK(kept > 200 * 64 * classes * sizeof(float));
  reset_peak_tensor_memory(at::kCPU);
  metric.result();
  CHECK(tensor_memory(at::kCPU).peak - before <= 4 * kept);
}
