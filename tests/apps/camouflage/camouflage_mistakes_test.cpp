// What broke the original's runs does not happen here, and would be seen if it did. What a network
// does wrong by itself (experts, attention) is in tests/models.
#include <headrace/engine/base/random.h>
#include <headrace/tests/apps/camouflage/animals_recipe.h>
#include <headrace/tests/training/changed_course.h>
#include <headrace/training/member_run.h>
#include <headrace/training/memory/memory_probe.h>
#include <headrace/training/memory/tensor_memory.h>
#include <headrace/training/stage/stage.h>
#include <headrace/training/trainer/trainer.h>

#include "../../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <torch/nn/modules/batchnorm.h>

using namespace headrace;
using namespace headrace::test;
using training::Stage;
using training::TensorMap;

namespace {

std::uint64_t planned(const training::Course& course, const Stage& stage,
                      std::int64_t steps = training::ProbeOptions{}.steps) {
  training::StageProbe probe(course, stage, {.loaders = {.prefetch = 1}, .steps = steps});
  const training::ProbePoint point = probe.measure(stage.batch, training::evaluation_batch(stage));
  return std::max(point.training, point.evaluation) + probe.state().checkpoint;
}

// The most that tensors took from the start of the second stage on.
std::uint64_t taken_by_second(const AnimalsRecipe& animals) {
  const TemporaryFolder folder;
  const std::uint64_t before = training::tensor_memory(at::kCPU).allocated;
  training::train_member(animals.recipe(), animals.member(),
                         {.folder = folder.path() / "run", .seed = 5},
                         {.on_stage = [](const training::StageStart& start) {
                           if (start.number == 1) training::reset_peak_tensor_memory(at::kCPU);
                         }});
  return training::tensor_memory(at::kCPU).peak - before;
}

bool is_near(std::uint64_t plan, std::uint64_t taken) {
  return std::abs(static_cast<double>(plan) / static_cast<double>(taken) - 1.0) <= 0.05;
}

// Copies, by name.
TensorMap copied(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors)
    copies.emplace(name, tensor.clone());
  return copies;
}

bool holds(const TensorMap& state, const TensorMap& before) {
  return std::ranges::all_of(before, [&](const auto& one) {
    const auto found = state.find(one.first);
    return found != state.end() && at::equal(found->second, one.second);
  });
}

// One stage of the job with an optimiser that is looked into.
class OneStage {
 public:
  OneStage(const AnimalsRecipe& animals, std::size_t number, models::Network& network)
      : course_(animals.course()),
        stage_(course_->stages().at(number)),
        network_(network),
        optimizer_(training::parameter_groups(with_number(stage_, number), network.parameters()),
                   stage_.optimizer),
        train_(course_->train(stage_, {.batch = stage_.batch}).build()) {}

  const Stage& stage() const { return stage_; }
  training::Optimizer& optimizer() { return optimizer_; }
  std::int64_t steps_per_epoch() const {
    return (train_.batches_per_epoch() + stage_.accumulation - 1) / stage_.accumulation;
  }
  void run(training::TrainerCallbacks callbacks) {
    training::Trainer trainer({.course = *course_,
                               .stage = stage_,
                               .network = network_,
                               .optimizer = optimizer_,
                               .train = train_},
                              {.seed = 5, .stage = stage_.number}, std::move(callbacks));
    trainer.run();
  }

 private:
  static const Stage& with_number(Stage& stage, std::size_t number) {
    stage.number = static_cast<std::int64_t>(number);
    stage.early_stopping.reset();
    return stage;
  }

  std::unique_ptr<training::Course> course_;
  Stage stage_;
  models::Network& network_;
  training::Optimizer optimizer_;
  Loader train_;
};

std::unique_ptr<models::Network> network_of(const AnimalsRecipe& animals) {
  at::manual_seed(3);
  auto network = animals.course()->network();
  network->move_to(at::kCPU, animals.config()->training.channels_last);
  return network;
}

// The rate of each group behind each step of the second stage.
struct Rates {
  std::vector<std::vector<double>> of_steps{};
  std::vector<double> factors{};  // of the groups, at the end
  std::size_t groups_before = 0;
};

using SetRates = std::function<void(training::Optimizer&)>;

Rates rates_of_second(const AnimalsRecipe& animals, const SetRates& mistake = {}) {
  const auto network = network_of(animals);
  OneStage second(animals, 1, *network);
  Rates rates{.groups_before = second.optimizer().group_count()};
  second.run({.on_step = [&](const training::StepReport&) {
    training::Optimizer& optimizer = second.optimizer();
    if (mistake) mistake(optimizer);
    std::vector<double> now;
    for (std::size_t group = 0; group < optimizer.group_count(); ++group)
      now.push_back(optimizer.learning_rate(group));
    rates.of_steps.push_back(now);
  }});
  for (std::size_t group = 0; group < second.optimizer().group_count(); ++group)
    rates.factors.push_back(second.optimizer().rate_factor(group));
  return rates;
}

// Every group goes along one cycle over the whole stage, at its own share of the rate.
bool are_right(const Rates& rates, const Stage& stage) {
  const auto total = static_cast<std::int64_t>(rates.of_steps.size());
  for (std::int64_t step = 0; step < total; ++step) {
    const auto& now = rates.of_steps[static_cast<std::size_t>(step)];
    for (std::size_t group = 0; group < now.size(); ++group) {
      const double wanted = training::rate_at(
          stage.schedule, stage.optimizer.learning_rate * rates.factors[group],
          {.update = step, .steps_per_epoch = total / stage.epochs, .epochs = stage.epochs});
      if (std::abs(now[group] - wanted) > 1e-12) return false;
    }
  }
  return rates.factors.size() > rates.groups_before;
}

std::uint64_t peak_of_step(const AnimalsRecipe& animals,
                           const std::vector<std::string>& checkpointed) {
  const auto course = animals.course();
  Stage stage = course->stages().at(1);
  stage.frozen.clear();
  stage.unfreeze.clear();
  stage.checkpointed = checkpointed;
  training::StageProbe probe(*course, stage, {.loaders = {.prefetch = 1}});
  return probe.measure(8, 1).training;
}

// What a network gives for the first of two pictures, alone and beside the other, as it learns.
bool rows_are_their_own(const std::function<at::Tensor(const at::Tensor&)>& forward) {
  at::manual_seed(9);
  const at::Tensor pictures = at::rand({2, 3, 64, 64});
  const at::NoGradGuard no_gradient;
  return (forward(pictures).slice(0, 0, 1) - forward(pictures.slice(0, 0, 1)))
             .abs()
             .max()
             .item<double>() < 1e-4;
}

}  // namespace

TEST_CASE("the plan of the second stage, before the first, is what it then takes") {
  training::count_tensor_memory();
  for (const bool lean : {true, false}) {
    CAPTURE(lean);
    const AnimalsRecipe animals(lean ? std::vector<std::string>{} : compatible_network());
    const auto course = animals.course();
    const std::vector<Stage> stages = course->stages();
    REQUIRE(stages.size() == 2);
    const std::uint64_t plan = planned(*course, stages[1]);
    const std::uint64_t of_first = planned(*course, stages[0]);
    // As the original's profiler did: one step, the mean as the loss, nothing beside it.
    CourseChanges mean_alone{
        .loss = [](const at::Tensor&, const at::Tensor& logits, auto&) { return logits.mean(); }};
    Stage plain = stages[1];
    plain.ema = 0.0;
    plain.unfreeze.clear();
    const std::uint64_t of_profiler = planned(
        ChangedCourse(std::shared_ptr<const training::Course>(animals.course()), mean_alone), plain,
        1);
    const std::uint64_t taken = taken_by_second(animals);
    CAPTURE(plan);
    CAPTURE(taken);
    CHECK(is_near(plan, taken));
    CHECK_FALSE(is_near(of_first, taken));
    CHECK_FALSE(is_near(of_profiler, taken));
  }
}

TEST_CASE("each group has its rate throughout, and one schedule drives what joins later, too") {
  const AnimalsRecipe animals;
  const Stage stage = animals.course()->stages().at(1);
  CHECK(are_right(rates_of_second(animals), stage));
  const SetRates one_rate_for_all = [](training::Optimizer& optimizer) {
    double highest = 0.0;
    for (std::size_t group = 0; group < optimizer.group_count(); ++group)
      highest = std::max(highest, optimizer.learning_rate(group));
    for (std::size_t group = 0; group < optimizer.group_count(); ++group)
      optimizer.set_learning_rate(group, highest);
  };
  CHECK_FALSE(are_right(rates_of_second(animals, one_rate_for_all), stage));
  // A new optimiser at each change, while the schedule drives the old one.
  std::size_t groups = 0;
  std::vector<double> left;
  const SetRates undriven = [&](training::Optimizer& optimizer) {
    if (optimizer.group_count() != groups) {
      groups = optimizer.group_count();
      left.clear();
      for (std::size_t group = 0; group < groups; ++group)
        left.push_back(optimizer.learning_rate(group));
    }
    for (std::size_t group = 0; group < groups; ++group)
      optimizer.set_learning_rate(group, left[group]);
  };
  CHECK_FALSE(are_right(rates_of_second(animals, undriven), stage));
}

TEST_CASE("moments of the first stage go on in the second, and outlive each change") {
  const AnimalsRecipe animals;
  const auto network = network_of(animals);
  OneStage first(animals, 0, *network);
  first.run({});
  const TensorMap of_first = copied(first.optimizer().state());
  OneStage second(animals, 1, *network);
  REQUIRE(second.stage().keep_moments);
  second.optimizer().adopt_state(of_first);
  CHECK(holds(second.optimizer().state(), of_first));
  TensorMap before;
  int changes = 0;
  bool outlive = true;
  bool would_be_seen = true;
  second.run(
      {.on_step = [&](const training::StepReport&) { before = copied(second.optimizer().state()); },
       .on_change =
           [&](const std::string&) {
             ++changes;
             outlive = outlive && !before.empty() && holds(second.optimizer().state(), before);
             // As the original did.
             const training::Optimizer anew(network->parameters(), second.stage().optimizer);
             would_be_seen = would_be_seen && !holds(anew.state(), before);
           }});
  CHECK(changes == 2);
  CHECK(outlive);
  CHECK(would_be_seen);
}

TEST_CASE("checkpointing reaches the backbone, where most of the memory is") {
  training::count_tensor_memory();
  const AnimalsRecipe animals({"model.width=1"});
  const auto names = network_of(animals)->blocks();
  const auto of_backbone = [](const std::string& name) { return name.starts_with("backbone."); };
  CHECK(std::ranges::count_if(names, of_backbone) >= 13);
  std::vector<std::string> others;
  std::ranges::copy_if(names, std::back_inserter(others),
                       [&](const std::string& name) { return !of_backbone(name); });
  const auto saved = [&,
                      plain = peak_of_step(animals, {})](const std::vector<std::string>& blocks) {
    return static_cast<double>(plain) - static_cast<double>(peak_of_step(animals, blocks));
  };
  const double by_all = saved({"*"});
  CHECK(by_all > 4e6);
  CHECK(saved(others) < 0.5 * by_all);  // what the original did
}

TEST_CASE("averaged weights are of everything, whatever is trained") {
  const AnimalsRecipe animals;
  const auto network = network_of(animals);
  const auto course = animals.course();
  Stage stage = course->stages().front();
  stage.early_stopping.reset();
  training::Optimizer optimizer(training::parameter_groups(stage, network->parameters()),
                                stage.optimizer);
  Loader train = course->train(stage, {.batch = stage.batch}).build();
  training::Trainer trainer({.course = *course,
                             .stage = stage,
                             .network = *network,
                             .optimizer = optimizer,
                             .train = train},
                            {.seed = 5});
  const auto covers = [&](const TensorMap& average) {
    const models::NamedTensors all = models::state_of(*network);
    return std::ranges::all_of(all, [&](const auto& one) { return average.contains(one.name); });
  };
  CHECK(covers(trainer.average()->state()));
  TensorMap of_trained;
  for (const auto& one : network->parameters())
    if (one.tensor.requires_grad()) of_trained.emplace(one.name, one.tensor);
  CHECK_FALSE(of_trained.empty());
  CHECK_FALSE(covers(of_trained));
}

TEST_CASE("no norm looks at the other pictures of a batch") {
  for (const bool lean : {true, false}) {
    CAPTURE(lean);
    const AnimalsRecipe animals(lean ? std::vector<std::string>{} : compatible_network());
    const auto network = network_of(animals);
    network->set_training(true);
    CHECK(rows_are_their_own([&](const at::Tensor& x) { return network->forward(x); }));
    for (const auto& buffer : network->buffers())
      CHECK(buffer.name.find("running_") == std::string::npos);
  }
  torch::nn::BatchNorm2d norm(3);
  CHECK_FALSE(rows_are_their_own([&](const at::Tensor& x) { return norm->forward(x); }));
}

TEST_CASE("an evaluation's batch is planned by itself") {
  training::count_tensor_memory();
  const AnimalsRecipe animals({"training.evaluation_batch=48"});
  const auto course = animals.course();
  const Stage stage = course->stages().at(0);
  training::StageProbe probe(*course, stage, {.loaders = {.prefetch = 1}});
  const training::ProbePoint point = probe.measure(stage.batch, training::evaluation_batch(stage));
  CHECK(point.evaluation_rows == 48);
  CHECK(point.evaluation > point.training);  // a plan of training alone would be too small
}

TEST_CASE("experts are used alike after two hundred steps") {
  const AnimalsRecipe animals({"training.stages=[{epochs: 34, batch: 4, accumulation: 1}]",
                               "training.ema=0", "data.split.validation=0"});
  const TemporaryFolder folder;
  std::int64_t steps = 0;
  double entropy = 0.0;
  training::train_member(animals.recipe(), animals.member(),
                         {.folder = folder.path() / "run", .seed = 5},
                         {.trainer = {.on_epoch = [&](const training::EpochReport& epoch) {
                            steps = epoch.step;
                            entropy = training::figure(epoch.train, "expert_entropy");
                          }}});
  CHECK(steps >= 200);
  CHECK(entropy > 0.8);
  CHECK(entropy <= 1.0);
}
