// The balance loss of a mixture of experts, beside known values and beside the mistake that it
// stands for.
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/expert_balance.h>

#include "../support/torch_doctest.h"

#include <limits>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

using namespace headrace::models;
using doctest::Approx;
using doctest::Contains;
using headrace::ConfigError;

namespace {

// Logits of these probabilities.
at::Tensor gates() {
  return at::tensor({.7, .2, .1, .5, .3, .2, .1, .2, .7, .6, .3, .1}, at::kDouble)
      .view({4, 3})
      .log();
}

at::Tensor best(const at::Tensor& logits, std::int64_t k) {
  return std::get<1>(at::topk(logits, k, 1));
}

double balance(const at::Tensor& logits, std::int64_t k, ExpertBalanceOptions options = {}) {
  return expert_balance_loss(logits, best(logits, k), options).item<double>();
}

}  // namespace

TEST_CASE("the balance loss of a worked example is its value") {
  CHECK(balance(gates(), 1) == Approx(.01275).epsilon(1e-9));
  CHECK(balance(gates(), 1, {.factor = .1}) == Approx(.1275).epsilon(1e-9));
  // Two of three: counts (3, 4, 1), the same mean probabilities.
  const double of_two = .01 * 3 * (3 * .475 + 4 * .25 + 1 * .275) / 8;
  CHECK(balance(gates(), 2) == Approx(of_two).epsilon(1e-9));
  const at::Tensor half = gates().to(at::kHalf);
  const at::Tensor of_half = expert_balance_loss(half, best(half, 1));
  CHECK((of_half.scalar_type() == at::kFloat));
  CHECK(of_half.item<double>() == Approx(.01275).epsilon(1e-3));
}

TEST_CASE("a gate that spreads evenly has the least balance loss, its factor") {
  const at::Tensor even = 4.0 * at::eye(4, at::kDouble);  // each row prefers another expert
  CHECK(balance(even, 1) == Approx(.01).epsilon(1e-9));
  CHECK(balance(even, 1, {.factor = .5}) == Approx(.5).epsilon(1e-9));
  for (std::int64_t favoured = 0; favoured < 4; ++favoured) {
    at::Tensor uneven = even.clone();
    uneven.select(1, favoured) += 5.0;
    CHECK(balance(uneven, 1) > .0101);
  }
  // One expert does everything: E times as much, in the end.
  const at::Tensor collapsed = at::tensor({30., 0., 0., 0.}, at::kDouble).expand({8, 4});
  CHECK(balance(collapsed, 1) == Approx(.04).epsilon(1e-6));
}

TEST_CASE("rows without weight do not count, whatever the gate says of them") {
  at::Tensor logits = at::cat({gates(), at::full({2, 3}, 9.0, at::kDouble)});
  at::Tensor chosen = best(logits, 1);
  const at::Tensor present = at::tensor({1., 1., 1., 1., 0., 0.}, at::kDouble);
  for (const double value : {9.0, std::numeric_limits<double>::infinity()}) {
    logits[4].fill_(value);
    CHECK(expert_balance_loss(logits, chosen, {.of_samples = present}).item<double>() ==
          Approx(.01275).epsilon(1e-9));
  }
  CHECK(expert_balance_loss(logits, chosen, {.of_samples = present != 0}).item<double>() ==
        Approx(.01275).epsilon(1e-9));
  CHECK(expert_balance_loss(gates(), best(gates(), 1), {.of_samples = at::zeros({4})})
            .item<double>() == 0.0);
}

TEST_CASE("the gate learns from our balance loss, and nothing from one of counts alone") {
  const at::Tensor logits = gates().requires_grad_(true);
  const at::Tensor ours = expert_balance_loss(logits, best(logits, 1));
  const at::Tensor gradient = torch::autograd::grad({ours}, {logits})[0];
  // The expert with the most rows is to get less of each, the one without any more.
  CHECK((gradient.select(1, 0) > 0).all().item<bool>());
  CHECK((gradient.select(1, 1) < 0).all().item<bool>());

  // What the original does: the squared error of how often each expert is the best.
  const at::Tensor counts =
      at::zeros({3}, at::kDouble).scatter_add(0, logits.argmax(1), at::ones({4}, at::kDouble));
  CHECK_FALSE((counts / 4 - 1.0 / 3).square().mean().requires_grad());
}

TEST_CASE("shapes that do not fit are refused") {
  CHECK_THROWS_WITH_AS(expert_balance_loss(gates(), at::zeros({3, 1}, at::kLong)),
                       Contains("chosen int64 [N, k], got [4, 3]"), ConfigError);
  CHECK_THROWS_AS(expert_balance_loss(gates(), at::zeros({4, 1})), ConfigError);
  CHECK_THROWS_AS(expert_balance_loss(gates()[0], at::zeros({3, 1}, at::kLong)), ConfigError);
  CHECK_THROWS_WITH_AS(
      expert_balance_loss(gates(), best(gates(), 1), {.of_samples = at::ones({3})}),
      Contains("of_samples must be [4], got [3]"), ConfigError);
}
