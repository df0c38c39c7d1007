// The parts of a step on a GPU: what the CPU makes of the same numbers, and no wait for the device.
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/torch_gpu.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/optimizer/update.h>
#include <headrace/training/optimizer/weight_average.h>

#include "../support/torch_doctest.h"
#include "function_course.h"
#include "small_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using namespace headrace::models;
using namespace headrace::test;

namespace {

const at::Device gpu(at::kCUDA, 0);

struct NamedRule {
  std::string name;
  OptimizerRule rule;
};

std::vector<NamedRule> all_rules() {
  return {{"adamw", AdamWRule{}},
          {"adam", AdamRule{}},
          {"sgd", SgdRule{.nesterov = false}},
          {"nesterov", SgdRule{}},
          {"without momentum", SgdRule{.momentum = 0.0, .nesterov = false}}};
}

// A weight and a bias under one rule, with gradients that are the same wherever they lie.
class Learner {
 public:
  Learner(const OptimizerRule& rule, at::Device device)
      : device_(device),
        weights_{{"weight", start({17, 5})}, {"bias", start({17})}},
        optimizer_(weights_, {.rule = rule, .learning_rate = .01, .weight_decay = .1}) {}

  void step(int number, bool skipped) {
    at::manual_seed(static_cast<std::uint64_t>(100 + number));
    for (const NamedTensor& item : weights_)
      item.tensor.mutable_grad() = at::randn(item.tensor.sizes()).to(device_);
    optimizer_.step(at::full({}, skipped ? 1.0F : 0.0F).to(device_));
  }
  double difference(const Learner& other) const {
    double largest = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      largest = std::max(
          largest,
          (weights_[i].tensor.cpu() - other.weights_[i].tensor.cpu()).abs().max().item<double>());
    return largest;
  }

 private:
  at::Tensor start(at::IntArrayRef sizes) const {
    at::manual_seed(7);
    return at::randn(sizes).to(device_).requires_grad_();
  }

  at::Device device_;
  NamedTensors weights_;
  Optimizer optimizer_;
};

// Steps in fp16 of a loss whose scaled gradients overflow at the scale that it begins with, and
// again whenever the scale has grown.
class ScaledSteps {
 public:
  explicit ScaledSteps(at::Device device)
      : device_(device),
        network_(make_network<PlainModule>(1)),
        course_({.loss = [](const at::Tensor& logits, const at::Tensor&,
                            const at::Tensor&) { return 3.0 * logits.to(at::kFloat).sum(); }}),
        optimizer_((network_->move_to(device, false), network_->parameters()), {}),
        update_(course_, *network_, optimizer_,
                {.device = device,
                 .clip_norm = 1.0,
                 .precision = Precision::fp16,
                 .scaler = {.interval = 3}}),
        average_(*network_, 0.9) {
    at::manual_seed(11);
    example_ = headrace::test::example_of(at::randn({8, 3, 2, 2}).to(device),
                                          at::zeros({8}, at::kLong).to(device));
    example_.rows = 8;
  }

  // Two micro-batches; the average goes with the weights.
  StepOutcome step() {
    headrace::Random random;
    Moment moment = moment_of(stage_, random);
    moment.device = device_;
    for (int i = 0; i < 2; ++i)
      update_.accumulate(example_, moment, /*alone=*/false);
    const StepOutcome outcome = update_.finish();
    average_.update(number_++, outcome.skipped);
    return outcome;
  }
  double scale() const { return update_.scaler()->scale(); }
  TensorMap average() const { return snapshot(average_.state()); }

 private:
  at::Device device_;
  std::unique_ptr<Network> network_;
  FunctionCourse course_;
  Optimizer optimizer_;
  Update update_;
  WeightAverage average_;
  Stage stage_{.precision = Precision::fp16};
  Example example_;
  std::int64_t number_ = 0;
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("steps of every rule on a GPU are the CPU's") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    for (const NamedRule& one : all_rules()) {
      CAPTURE(one.name);
      Learner there(one.rule, gpu);
      Learner here(one.rule, at::kCPU);
      const Learner start(one.rule, at::kCPU);
      for (int i = 0; i < 20; ++i) {
        CAPTURE(i);
        const bool skipped = i % 7 == 3;
        there.step(i, skipped);
        here.step(i, skipped);
        CHECK(there.difference(here) < 1e-5);
      }
      CHECK(here.difference(start) > 1e-2);
    }
  }

  TEST_CASE("in fp16 a GPU skips the steps that the CPU skips, at the same scales") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    ScaledSteps there(gpu);
    ScaledSteps here(at::kCPU);
    int skipped = 0;
    for (int i = 0; i < 20; ++i) {
      CAPTURE(i);
      const auto expected = here.step().skipped.item<float>();
      CHECK(there.step().skipped.item<float>() == expected);
      CHECK(there.scale() == here.scale());
      skipped += expected == 1.0F ? 1 : 0;
    }
    CHECK(skipped > 2);
    CHECK(skipped < 18);
    const TensorMap averages = there.average();
    for (const auto& [name, average] : here.average()) {
      CAPTURE(name);
      CHECK((averages.at(name).cpu() - average).abs().max().item<double>() < 1e-3);
    }
  }

  TEST_CASE("clipping, the loss scale, every optimiser and averaged weights wait for nothing") {
    if (!open_torch_gpu()) return skip("needs a GPU");
    REQUIRE(sync_debug_mode() != nullptr);
    ScaledSteps steps(gpu);
    steps.step();  // makes what is made once
    {
      const WaitsThrow waits_throw;
      for (int i = 0; i < 5; ++i)
        CHECK_NOTHROW(steps.step());
      CHECK_THROWS(steps.step().norm.item<float>());
    }
    for (const NamedRule& one : all_rules()) {
      CAPTURE(one.name);
      const at::Tensor weight = at::ones({3}, gpu).requires_grad_();
      weight.mutable_grad() = at::ones({3}, gpu);
      const at::Tensor skip = at::zeros({}, gpu);
      Optimizer optimizer(NamedTensors{{"weight", weight}}, {.rule = one.rule});
      const WaitsThrow waits_throw;
      CHECK_NOTHROW(optimizer.step(skip));
    }
  }
}
