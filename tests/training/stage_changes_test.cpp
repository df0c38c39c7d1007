// What changes inside a stage: frozen parts, parameters that join, averaged weights, half
// precision, steps that are not finite.
#include <headrace/training/optimizer/gradients.h>
#include <headrace/training/optimizer/weight_average.h>

#include "pattern_recipe.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace headrace::training;
using doctest::Approx;

namespace {

at::Tensor named(const headrace::models::NamedTensors& tensors, const std::string& name) {
  for (const auto& item : tensors)
    if (item.name == name) return item.tensor;
  throw std::logic_error("no tensor " + name);
}

void check_same_state(const Checkpoint& a, const Checkpoint& b) {
  CHECK((a.progress == b.progress));
  for (const auto section : {&Checkpoint::weights, &Checkpoint::optimizer, &Checkpoint::ema,
                             &Checkpoint::scaler, &Checkpoint::rng, &Checkpoint::fitted}) {
    CHECK((a.*section).size() == (b.*section).size());
    for (const auto& [name, tensor] : a.*section) {
      CAPTURE(name);
      CHECK(at::equal(tensor, (b.*section).at(name)));
    }
  }
}

Setup freezing() {
  Setup setup = epochs(4);
  setup.stage.frozen = {"conv", "norm"};
  setup.stage.unfreeze = {{.at = 2, .patterns = {"conv"}, .rate_factor = 0.1, .warmup = 5}};
  setup.stage.ema = 0.9;
  return setup;
}

}  // namespace

TEST_CASE("the loss scale goes as PyTorch's, and a step that overflows is skipped") {
  GradScaler scaler(at::kCPU, {.interval = 3});
  const auto step = [&](bool overflows) { scaler.update(at::full({}, overflows ? 1.0F : 0.0F)); };
  const auto tracker = [&] { return scaler.state().at("growth_tracker").item<int>(); };
  for (int i = 0; i < 3; ++i)
    step(false);
  CHECK(scaler.scale() == 131072.0);
  CHECK(tracker() == 0);
  step(true);
  CHECK(scaler.scale() == 65536.0);
  step(false);
  step(false);
  CHECK(scaler.scale() == 65536.0);
  CHECK(tracker() == 2);
  CHECK_THROWS_AS(GradScaler(at::kCPU, {.growth = 1.0}), headrace::ConfigError);
}

TEST_CASE("gradients are unscaled once, and one that is not finite is found") {
  GradScaler scaler(at::kCPU, {.scale = 8.0});
  const at::Tensor good = at::ones({3}).set_requires_grad(true);
  const at::Tensor bad = at::ones({2}).set_requires_grad(true);
  scaler.scaled((good * 3.0).sum()).backward();
  CHECK(at::equal(good.grad(), at::full({3}, 24.0)));
  CHECK(scaler.unscale({good, bad}).item<double>() == 0.0);
  CHECK(at::equal(good.grad(), at::full({3}, 3.0)));
  bad.mutable_grad() = at::tensor({1.0, std::numeric_limits<double>::infinity()}, at::kFloat);
  CHECK(scaler.unscale({good, bad}).item<double>() == 1.0);
}

TEST_CASE("the average's decay rises with the updates") {
  const auto network = make_network<PlainModule>(1);
  const WeightAverage average(*network, 0.9999);
  const std::map<std::int64_t, double> known{
      {10, .79782}, {100, .95389}, {1000, .99001}, {10000, .997846}};
  for (const auto& [update, decay] : known)
    CHECK(average.decay_at(update) == Approx(decay).epsilon(1e-5));
  CHECK(average.decay_at(0) == 0.0);
  CHECK(WeightAverage(*network, 0.9).decay_at(1000) == 0.9);
  CHECK_THROWS_AS(WeightAverage(*network, 1.0), headrace::ConfigError);
}

TEST_CASE("a skipped step leaves the average, and swapping twice gives the weights back") {
  const auto network = make_network<StatefulModule>(1);
  WeightAverage average(*network, 0.5);
  const TensorMap first = snapshot(*network);
  {
    const at::NoGradGuard no_gradient;
    for (const auto& item : headrace::models::state_of(*network))
      item.tensor.add_(1);
  }
  const TensorMap moved = snapshot(*network);
  average.update(5, at::ones({}));
  CHECK(at::equal(average.state().at("conv.weight"), first.at("conv.weight")));
  average.update(5);
  CHECK(at::allclose(average.state().at("norm.running_mean"), first.at("norm.running_mean") + 0.5));
  CHECK(average.state().at("norm.num_batches_tracked").item<std::int64_t>() == 1);
  {
    const AverageInPlace in_place(&average);
    CHECK(at::allclose(snapshot(*network).at("conv.weight"), first.at("conv.weight") + 0.5));
  }
  for (const auto& [name, tensor] : snapshot(*network))
    CHECK(at::equal(tensor, moved.at(name)));
}

TEST_CASE("what is evaluated and kept is the average, and training goes on with the weights") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  Setup setup = epochs(2);
  setup.stage.ema = 0.8;
  Run averaged(setup, {}, &store);
  averaged.trainer.run();
  Run plain(epochs(2));
  plain.trainer.run();
  check_same_weights(*averaged.network, *plain.network);
  const Checkpoint last = *store.load_latest();
  CHECK(last.ema.size() == last.weights.size());
  CHECK_FALSE(at::equal(last.ema.at("conv.weight"), last.weights.at("conv.weight")));
  const BestWeights best = read_best_weights(store.best_path());
  REQUIRE(best.epoch == 1);
  for (const auto& [name, tensor] : best.weights)
    CHECK(at::equal(tensor, last.ema.at(name)));
}

TEST_CASE("a frozen norm keeps its statistics, and joins with its moments at their epoch") {
  std::vector<std::string> changes;
  std::map<std::string, at::Tensor> before;
  Setup setup = freezing();
  Run* seen = nullptr;
  Run run(setup, {.on_epoch =
                      [&](const EpochReport& report) {
                        if (report.epoch != 1) return;
                        for (const auto& [name, tensor] : seen->optimizer.state())
                          before.emplace(name, tensor.clone());
                      },
                  .on_change = [&](const std::string& text) { changes.push_back(text); }});
  seen = &run;
  const at::Tensor mean = named(run.network->buffers(), "norm.running_mean").clone();
  const at::Tensor conv = named(run.network->parameters(), "conv.weight").detach().clone();
  run.trainer.run();
  CHECK(at::equal(named(run.network->buffers(), "norm.running_mean"), mean));
  CHECK_FALSE(at::equal(named(run.network->parameters(), "conv.weight"), conv));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0] == "[stage train] epoch 2 unfreezes 224 values; 251 are trained from here on");
  CHECK(before.at("linear.weight.step").item<double>() == 14.0);
  CHECK(run.optimizer.state().at("linear.weight.step").item<double>() == 28.0);
  CHECK(run.optimizer.state().at("conv.weight.step").item<double>() == 14.0);
}

TEST_CASE("unfreezing leaves the moments of what was trained as they are, bit for bit") {
  const auto network = make_network<StatefulModule>(1);
  Stage stage{.epochs = 3, .frozen = {"conv"}, .unfreeze = {{.at = 1, .patterns = {"conv"}}}};
  Optimizer optimizer(parameter_groups(stage, network->parameters()), stage.optimizer);
  for (const at::Tensor& parameter : optimizer.parameters())
    parameter.mutable_grad() = at::randn(parameter.sizes());
  optimizer.step();
  const TensorMap before = snapshot(optimizer.state());
  for (ParameterGroup& group : unfreeze(stage, 0, network->parameters(), 7))
    optimizer.add_group(std::move(group));
  const TensorMap now = optimizer.state();
  CHECK(now.size() == before.size() + 6);
  for (const auto& [name, tensor] : before)
    CHECK(at::equal(now.at(name), tensor));
  CHECK(optimizer.since(optimizer.group_count() - 1) == 7);
}

TEST_CASE("a run with all that changes inside a stage is resumed at any step, bit for bit") {
  const OneThread one;
  // Joining parameters, an average, windows of three of which one in each epoch is skipped.
  Setup setup = freezing();
  setup.stage.accumulation = 3;
  setup.poisoned = 33;
  SUBCASE("fp32") {}
  SUBCASE("fp16 under a loss scale") {
    setup.stage.precision = Precision::fp16;
  }
  Setup other = setup;
  other.loader = {.prefetch = 1, .runtime = headrace::Runtime({.threads = 3})};
  Run whole(setup);
  whole.trainer.run();
  const Checkpoint end = whole.trainer.checkpoint();
  CHECK(end.progress.skipped >= 4);
  CHECK(end.scaler.empty() == (setup.stage.precision == Precision::fp32));
  for (std::int64_t at = 1; at <= end.progress.step; ++at) {
    CAPTURE(at);
    const TemporaryFolder folder;
    CheckpointStore store(folder.path());
    std::stop_source stop;
    {
      Run first(setup,
                {.on_step =
                     [&](const StepReport& step) {
                       if (step.step == at) stop.request_stop();
                     }},
                &store);
      REQUIRE(first.trainer.run(stop.get_token()).status == RunStatus::interrupted);
    }
    Run second(other, {}, nullptr, 2);
    second.trainer.restore(*store.load_latest());
    second.trainer.run();
    check_same_state(end, second.trainer.checkpoint());
  }
}

TEST_CASE("changes that name nothing frozen, or come too late, are refused") {
  const auto refused = [](std::vector<Unfreeze> changes) {
    Setup setup = epochs(3);
    setup.stage.frozen = {"conv"};
    setup.stage.unfreeze = std::move(changes);
    CHECK_THROWS_AS(Run{setup}, headrace::ConfigError);
  };
  refused({{.at = 1, .patterns = {"linear"}}});
  refused({{.at = 3, .patterns = {"conv"}}});
  refused({{.at = 0, .patterns = {"conv"}}});
  refused({{.at = 2, .patterns = {"conv.weight"}}, {.at = 1, .patterns = {"conv.bias"}}});
  refused({{.at = 1, .patterns = {"conv"}}, {.at = 2, .patterns = {"conv"}}});
}

TEST_CASE("fp16 trains under a loss scale that is saved, and learns as fp32 does") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  Setup setup = epochs(2);
  setup.stage.precision = Precision::fp16;
  double last = 0.0;
  Run run(setup,
          {.on_epoch = [&](const EpochReport& report) { last = figure(report.train, "loss"); }},
          &store);
  run.trainer.run();
  double plain = 0.0;
  Run reference(epochs(2), {.on_epoch = [&](const EpochReport& report) {
                  plain = figure(report.train, "loss");
                }});
  reference.trainer.run();
  CHECK(last == Approx(plain).epsilon(0.05));
  CHECK(store.load_latest()->scaler.contains("scale"));
  CHECK_FALSE(same_weights(*run.network, *reference.network));
}
