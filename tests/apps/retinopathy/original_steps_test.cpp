// The steps of a pair are not the original's where that took wrong ones, and it would be seen; what
// they take in memory is a line of the batch.
#include <headrace/engine/base/random.h>
#include <headrace/monitor/memory/memory_line.h>
#include <headrace/tests/apps/retinopathy/pairs_of_grades.h>
#include <headrace/tests/training/changed_course.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/memory/memory_probe.h>
#include <headrace/training/memory/tensor_memory.h>
#include <headrace/training/optimizer/optimizer.h>
#include <headrace/training/stage/stage.h>

#include "../../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/allclose.h>

using namespace headrace;
using namespace headrace::test;
using training::TensorMap;

namespace {

// What an epoch's last window does where it has fewer micro-batches than the others.
enum class LastWindow : std::uint8_t {
  stepped,  ///< by the mean of what it has
  small,    ///< stepped, but divided as a whole window is
  left,     ///< as the original did: its gradients stay, and go into the next epoch's first step
};

// The weights of a training that is written out here.
TensorMap trained_by_hand(const training::Course& course, LastWindow last) {
  const OneTorchThread one_thread;
  at::manual_seed(seed_of_pairs);
  const std::unique_ptr<models::Network> network = course.network();
  const training::Stage stage = course.stages().front();
  network->move_to(at::kCPU, stage.channels_last);
  training::Optimizer optimizer(training::parameter_groups(stage, network->parameters()),
                                stage.optimizer);
  optimizer.set_learning_rate(stage.optimizer.learning_rate);
  network->set_training(true);
  Loader loader = course.train(stage, {.batch = stage.batch}).build();
  Random random;
  const training::Moment moment{.stage = stage, .training = true, .random = random};
  for (std::int64_t epoch = 0; epoch < stage.epochs; ++epoch) {
    std::int64_t left = loader.batches_per_epoch();
    std::int64_t done = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      const std::int64_t whole = stage.accumulation;
      const std::int64_t window = last == LastWindow::left ? whole : std::min(whole, done + left);
      const std::int64_t divisor = last == LastWindow::stepped ? window : whole;
      const training::Example example = course.example(batch, moment);
      const training::Output output = course.forward(*network, example, moment);
      const at::Tensor loss = course.loss(output, example, moment).front().value;
      (loss / static_cast<double>(divisor)).backward();
      --left;
      if (++done < window) continue;
      optimizer.step();
      optimizer.zero_grad();
      done = 0;
    }
  }
  return training::snapshot(*network);
}

double largest_difference(const TensorMap& a, const TensorMap& b) {
  double largest = 0.0;
  for (const auto& [name, tensor] : a)
    largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  return largest;
}

// Whether a training has stepped each window of an epoch by its mean.
bool steps_every_window(const TensorMap& weights, const training::Course& course) {
  return largest_difference(weights, trained_by_hand(course, LastWindow::stepped)) < 1e-5;
}

// Checkpointing as one would write it at first, and the original did: blocks run twice.
const CourseChanges forward_twice{
    .before_forward = [](models::Network& network, const training::Example& example) {
      if (network.is_training()) network.forward(training::only(example.inputs, "input"));
    }};

struct Learnt {
  std::vector<double> losses;  // of each step, and behind each epoch of its validation
  TensorMap weights;
};

Learnt learn(const PairsOfGrades& pairs, const CourseChanges& changes = {}) {
  Learnt learnt;
  learnt.weights = train_pair(ChangedRecipe(pairs.recipe(), changes), pairs.first(),
                              {.trainer = {.on_step =
                                               [&](const training::StepReport& step) {
                                                 learnt.losses.push_back(step.loss.value());
                                               },
                                           .on_epoch =
                                               [&](const training::EpochReport& epoch) {
                                                 learnt.losses.push_back(training::figure(
                                                     epoch.validation.value().figures, "loss"));
                                               }}})
                       .weights;
  return learnt;
}

bool has_same_losses(const Learnt& a, const Learnt& b) {
  return std::ranges::equal(a.losses, b.losses,
                            [](double one, double other) { return std::abs(one - other) <= 1e-5; });
}

bool has_same_statistics(const Learnt& a, const Learnt& b) {
  return std::ranges::all_of(a.weights, [&](const auto& one) {
    const auto& [name, tensor] = one;
    return name.find("running_") == std::string::npos ||
           at::allclose(tensor, b.weights.at(name), 1e-5, 1e-6);
  });
}

// The pair's own network and pictures, in small.
std::vector<std::string> as_configured(std::vector<std::string> more) {
  more.insert(more.end(), {"model.name=seresnext50_32x4d", "model.hidden=[512, 128]",
                           "model.dropout=[0.4, 0.2, 0.2]", "image.prepare=[{clahe: 2.5}]"});
  return more;
}

// Bytes of a whole training of the first pair.
double taken_by(const PairsOfGrades& pairs) {
  const std::uint64_t before = training::tensor_memory(at::kCPU).allocated;
  training::reset_peak_tensor_memory(at::kCPU);
  train_pair(pairs.recipe(), pairs.first());
  return static_cast<double>(training::tensor_memory(at::kCPU).peak - before);
}

struct MemoryOfBatch {
  monitor::MemoryLine training;
  double checkpoint = 0.0;
};

// By three batches, none of which is the configuration's.
MemoryOfBatch line_of(const PairsOfGrades& pairs) {
  const OneTorchThread one_thread;
  const auto course = pairs.recipe().begin(pairs.first());
  const training::Stage stage = course->stages().front();
  training::StageProbe probe(*course, stage, {.loaders = {.prefetch = 1}});
  std::vector<monitor::MemoryPoint> points;
  for (const std::int64_t rows : {6, 10, 14})
    points.push_back({.rows = rows, .bytes = probe.measure(rows, 4).training});
  return {.training = monitor::MemoryLine(points),
          .checkpoint = static_cast<double>(probe.state().checkpoint)};
}

}  // namespace

TEST_CASE("the last window of an epoch is stepped by its own mean, and one that is left is seen") {
  const PairsOfGrades pairs(
      3, 8,
      {"training.epochs=2", "training.accumulation=2", "training.optimizer=sgd",
       "training.learning_rate=0.05", "training.clip=0", "model.dropout=[0, 0]"});
  const auto course = pairs.recipe().begin(pairs.first());
  const training::Checkpoint trained = train_pair(pairs.recipe(), pairs.first());
  CHECK(trained.progress.step == 2 * 2);  // of 14 records 3 batches of 4
  CHECK(steps_every_window(trained.weights, *course));
  for (const LastWindow last : {LastWindow::small, LastWindow::left})
    CHECK_FALSE(steps_every_window(trained_by_hand(*course, last), *course));
}

TEST_CASE("statistics move once where blocks run twice, and moving twice is seen") {
  const std::vector<std::string> one_step{"training.batch=10", "model.dropout=[0, 0]"};
  const PairsOfGrades plain(3, 8, one_step);
  const Learnt once = learn(plain);
  std::vector<std::string> blocks = one_step;
  blocks.emplace_back("training.checkpointed=['*']");
  CHECK(has_same_statistics(learn(PairsOfGrades(3, 8, blocks)), once));
  const Learnt twice = learn(plain, forward_twice);
  CHECK_FALSE(has_same_statistics(twice, once));
  // An effective momentum of .19 in place of .1.
  CHECK(at::allclose(twice.weights.at("bn1.running_mean"),
                     1.9 * once.weights.at("bn1.running_mean"), 1e-4, 1e-6));
}

TEST_CASE("losses are the same with and without checkpointing, and not where blocks run twice") {
  const PairsOfGrades plain(3, 8, as_configured({"training.epochs=3"}));
  const Learnt once = learn(plain);
  CHECK(once.losses.size() == 3 * (2 + 1));
  CHECK(has_same_losses(
      learn(
          PairsOfGrades(3, 8, as_configured({"training.epochs=3", "training.checkpointed=['*']"}))),
      once));
  CHECK_FALSE(has_same_losses(learn(plain, forward_twice), once));
}

TEST_CASE("a pair's peak is on the line of three other batches, with and without checkpointing") {
  training::count_tensor_memory();
  std::vector<double> of_row;
  for (const std::string checkpointed : {"[]", "['*']"}) {
    CAPTURE(checkpointed);
    const PairsOfGrades pairs(
        3, 25,
        as_configured({"image.size=64", "training.batch=24", "training.epochs=3",
                       "training.checkpointed=" + checkpointed}));
    const MemoryOfBatch line = line_of(pairs);
    of_row.push_back(line.training.per_row());
    CHECK(static_cast<double>(line.training.at(24)) + line.checkpoint ==
          doctest::Approx(taken_by(pairs)).epsilon(0.05));
  }
  CHECK(of_row[1] < 0.7 * of_row[0]);
}
