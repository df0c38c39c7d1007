#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/errors.h>
#include <headrace/training/optimizer/gradients.h>
#include <headrace/training/optimizer/optimizer.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using doctest::Approx;
using headrace::models::NamedTensors;

namespace {

at::Tensor parameter(at::Tensor values) {
  return values.clone().set_requires_grad(true);
}

void give_gradient(const at::Tensor& tensor, const at::Tensor& gradient) {
  tensor.mutable_grad() = gradient.clone();
}

}  // namespace

TEST_CASE("AdamW and Adam give the values computed by hand") {
  const std::vector<double> gradients{.1, -.2, .3};
  const auto values_of = [&](const OptimizerRule& rule) {
    const at::Tensor w = parameter(at::ones({1}, at::kDouble));
    Optimizer optimizer(
        NamedTensors{{"w", w}},
        {.rule = rule, .learning_rate = .1, .weight_decay = .01, .decay_vectors = true});
    std::vector<double> values;
    for (const double gradient : gradients) {
      give_gradient(w, at::full({1}, gradient, at::kDouble));
      optimizer.step();
      values.push_back(w.item<double>());
    }
    return values;
  };
  const auto check_near = [](const std::vector<double>& values,
                             const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(values[i] == Approx(expected[i]).epsilon(1e-12));
  };
  check_near(values_of(AdamWRule{}), {.899000009999999, .934711360378489, .899452542577364});
  check_near(values_of(AdamRule{}), {.900000009090908, .931064301209755, .892958592110089});
}

TEST_CASE("biases and norms decay only when asked") {
  const auto decayed = [](bool decay_vectors) {
    const at::Tensor matrix = parameter(at::ones({2, 2}));
    const at::Tensor bias = parameter(at::ones({2}));
    Optimizer optimizer(NamedTensors{{"m", matrix}, {"b", bias}},
                        {.learning_rate = .1, .weight_decay = .5, .decay_vectors = decay_vectors});
    give_gradient(matrix, at::zeros({2, 2}));
    give_gradient(bias, at::zeros({2}));
    optimizer.step();
    return std::pair(matrix[0][0].item<double>(), bias[0].item<double>());
  };
  CHECK(decayed(false).first == Approx(.95));
  CHECK(decayed(false).second == 1.0);
  CHECK(decayed(true).second == Approx(.95));
}

TEST_CASE("a value for each head is a vector, whatever its axes, and one row of weights is not") {
  const NamedTensors parameters{{"temperature", parameter(at::ones({4, 1, 1}))},
                                {"last", parameter(at::ones({1, 32, 1, 1}))}};
  const auto groups = groups_by_decay(parameters, {.weight_decay = .5});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].weight_decay == .5);
  CHECK(groups[0].parameters.front().name == "last");
  CHECK(groups[1].weight_decay == 0.0);
  CHECK(groups[1].parameters.front().name == "temperature");
}

TEST_CASE("groups have their own rate and decay") {
  const at::Tensor fast = parameter(at::zeros({1}));
  const at::Tensor slow = parameter(at::zeros({1}));
  Optimizer optimizer({{.parameters = {{"fast", fast}}, .weight_decay = 0},
                       {.parameters = {{"slow", slow}}, .rate_factor = .1, .weight_decay = 0}},
                      {.learning_rate = .1});
  give_gradient(fast, at::ones({1}));
  give_gradient(slow, at::ones({1}));
  optimizer.step();
  CHECK(fast.item<double>() == Approx(-.1).epsilon(1e-6));
  CHECK(slow.item<double>() == Approx(-.01).epsilon(1e-6));
}

TEST_CASE("a skipped step leaves weights, moments and count as they were") {
  const at::Tensor w = parameter(at::ones({3}));
  Optimizer optimizer(NamedTensors{{"w", w}}, {});
  give_gradient(w, at::ones({3}));
  optimizer.step();
  const at::Tensor before = w.detach().clone();
  const TensorMap state = snapshot(optimizer.state());
  optimizer.step(at::ones({}));
  CHECK(at::equal(w, before));
  for (const auto& [name, tensor] : optimizer.state())
    CHECK(at::equal(tensor, state.at(name)));
  optimizer.step(at::zeros({}));
  CHECK_FALSE(at::equal(w, before));
}

TEST_CASE("a parameter without gradient stays as it is") {
  const at::Tensor used = parameter(at::ones({2}));
  const at::Tensor unused = parameter(at::ones({2}));
  Optimizer optimizer(NamedTensors{{"used", used}, {"unused", unused}}, {.decay_vectors = true});
  give_gradient(used, at::ones({2}));
  optimizer.step();
  CHECK(at::equal(unused, at::ones({2})));
  CHECK_FALSE(at::equal(used, at::ones({2})));
  optimizer.zero_grad();
  CHECK_FALSE(used.grad().defined());
}

TEST_CASE("an optimiser that was restored goes on bit for bit") {
  const auto run = [](Optimizer& optimizer, const at::Tensor& w, int first, int last) {
    for (int i = first; i < last; ++i) {
      give_gradient(w, at::full({4}, std::sin(i)));
      optimizer.step();
    }
  };
  const at::Tensor whole = parameter(at::ones({4}));
  Optimizer uninterrupted(NamedTensors{{"w", whole}}, {});
  run(uninterrupted, whole, 0, 3);
  const at::Tensor again = parameter(whole.detach());
  const TensorMap saved = snapshot(uninterrupted.state());
  run(uninterrupted, whole, 3, 6);

  Optimizer restored(NamedTensors{{"w", again}}, {});
  restored.load_state(saved);
  run(restored, again, 3, 6);
  CHECK(at::equal(whole, again));

  const at::Tensor forgetful = parameter(at::ones({4}));
  Optimizer fresh(NamedTensors{{"w", forgetful}}, {});
  run(fresh, forgetful, 3, 6);
  CHECK_FALSE(at::equal(whole, forgetful));
}

TEST_CASE("a state of other parameters is refused before anything changes") {
  Optimizer optimizer(NamedTensors{{"w", parameter(at::ones({4}))}}, {});
  Optimizer larger(NamedTensors{{"w", parameter(at::ones({5}))}}, {});
  Optimizer renamed(NamedTensors{{"v", parameter(at::ones({4}))}}, {});
  CHECK_THROWS_WITH_AS(optimizer.load_state(larger.state()),
                       "[optimizer] \"w.exp_avg\" must have the shape [4], the file has [5]",
                       CheckpointError);
  CHECK_THROWS_WITH_AS(optimizer.load_state(renamed.state()),
                       "[optimizer] \"w.exp_avg\" is missing from the file", CheckpointError);
  TensorMap more = optimizer.state();
  more.emplace("x", at::ones({}));
  CHECK_THROWS_AS(optimizer.load_state(more), CheckpointError);
}

TEST_CASE("settings outside their range are refused") {
  const at::Tensor w = parameter(at::ones({1}));
  CHECK_THROWS_AS(Optimizer(NamedTensors{{"w", w}}, {.learning_rate = -1}), headrace::ConfigError);
  CHECK_THROWS_AS(Optimizer(NamedTensors{{"w", w}}, {.rule = AdamWRule{.beta1 = 1.0}}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(Optimizer(NamedTensors{}, {}), headrace::ConfigError);
  CHECK_THROWS_AS(Optimizer(NamedTensors{{"w", w}, {"w", w}}, {}), headrace::ConfigError);
}

TEST_CASE("clipping scales all gradients to one norm") {
  const at::Tensor a = parameter(at::zeros({2}));
  const at::Tensor b = parameter(at::zeros({1}));
  const at::Tensor without = parameter(at::zeros({1}));
  give_gradient(a, at::tensor({3., 0.}));
  give_gradient(b, at::tensor({4.}));
  CHECK(clip_gradients({a, b, without}, 10.0).item<double>() == Approx(5.0));
  CHECK(at::equal(a.grad(), at::tensor({3., 0.})));
  CHECK(clip_gradients({a, b, without}, 1.0).item<double>() == Approx(5.0));
  CHECK(a.grad()[0].item<double>() == Approx(.6).epsilon(1e-6));
  CHECK(b.grad()[0].item<double>() == Approx(.8).epsilon(1e-6));
}

TEST_CASE("gradients of double are clipped in double") {
  const at::Tensor a = parameter(at::zeros({2}, at::kDouble));
  give_gradient(a, at::tensor({1.0, 2.0}, at::kDouble));
  const at::Tensor norm = clip_gradients({a}, 1.0);
  CHECK(norm.item<double>() == Approx(std::sqrt(5.0)).epsilon(1e-15));
  CHECK(a.grad()[0].item<double>() == Approx(1.0 / (std::sqrt(5.0) + 1e-6)).epsilon(1e-15));
}

TEST_CASE("a norm that is not finite leaves the gradients alone") {
  const at::Tensor a = parameter(at::zeros({2}));
  give_gradient(a, at::tensor({3., std::numeric_limits<double>::infinity()}));
  CHECK(std::isinf(clip_gradients({a}, 1.0).item<double>()));
  CHECK(a.grad()[0].item<double>() == 3.0);
}
