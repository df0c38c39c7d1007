// An optimiser's step that finds no memory has changed nothing.
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/optimizer/update.h>

#include "../support/torch_doctest.h"
#include "function_course.h"
#include "refusal.h"
#include "small_network.h"

#include <utility>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using headrace::test::nth;
using headrace::test::Refusal;

namespace {

at::Tensor mean_square(const at::Tensor& logits, const at::Tensor& target, const at::Tensor&) {
  return (logits.select(1, 0) - target).square().mean();
}

// Steps of a network on the same rows.
struct RepeatedSteps {
  explicit RepeatedSteps(const OptimizerRule& rule, Precision precision)
      : network(make_network<PlainModule>(3)),
        course({.loss = mean_square}),
        optimizer(network->parameters(), {.rule = rule, .learning_rate = .01}),
        update(course, *network, optimizer, {.clip_norm = .5, .precision = precision}) {
    at::manual_seed(4);
    example = headrace::test::example_of(at::randn({6, 3, 2, 2}), at::randn({6}));
  }

  void accumulate() {
    headrace::Random random;
    update.accumulate(example, headrace::test::moment_of(stage, random), false);
  }
  void step() {
    accumulate();
    update.finish();
  }
  TensorMap state() const {
    TensorMap all = snapshot(*network);
    const TensorMap moments = snapshot(optimizer.state());
    all.insert(moments.begin(), moments.end());
    if (update.scaler() != nullptr)
      for (const auto& [name, tensor] : snapshot(update.scaler()->state()))
        all.emplace("scaler." + name, tensor);
    return all;
  }

  Stage stage;
  std::unique_ptr<headrace::models::Network> network;
  headrace::test::FunctionCourse course;
  Optimizer optimizer;
  Update update;
  Example example;
};

bool same(const TensorMap& a, const TensorMap& b) {
  for (const auto& [name, tensor] : a)
    if (!at::equal(tensor, b.at(name))) return false;
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("a step whose n-th tensor is refused changes nothing, and is done as if never begun") {
  const std::vector<std::pair<OptimizerRule, Precision>> kinds{
      {AdamWRule{}, Precision::fp32},
      {AdamRule{}, Precision::fp16},
      {SgdRule{.momentum = .9}, Precision::fp16},
      {SgdRule{.momentum = 0.0, .nesterov = false}, Precision::bf16}};
  for (const auto& [rule, precision] : kinds) {
    CAPTURE(rule.index());
    RepeatedSteps steps(rule, precision);
    RepeatedSteps plain(rule, precision);
    for (int i = 0; i < 2; ++i) {
      steps.step();
      plain.step();
    }
    const TensorMap before = steps.state();
    std::int64_t n = 0;
    for (bool finished = false; !finished; ++n) {
      CAPTURE(n);
      REQUIRE(n < 1000);
      steps.accumulate();
      const Refusal refusal(nth(n + 1));
      try {
        steps.update.finish();
        finished = true;
      } catch (const c10::OutOfMemoryError&) {
        steps.update.drop();
        CHECK(same(steps.state(), before));
      }
    }
    CHECK(n > 5);
    plain.step();
    CHECK(same(steps.state(), plain.state()));
    CHECK_FALSE(same(steps.state(), before));
  }
}
