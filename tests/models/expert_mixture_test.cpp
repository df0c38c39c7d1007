// A mixture of experts beside the plain ways to compute it.
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/expert_balance.h>
#include <headrace/models/networks/expert_mixture.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/tests/apps/meta_device.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/batchnorm.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;
using doctest::Contains;
using headrace::ConfigError;
using headrace::DataError;

namespace {

namespace nn = torch::nn;
using Tensors = std::vector<at::Tensor>;

// A convolution and what a gradient does not just pass through.
struct Curved : Expert {
  explicit Curved(std::int64_t channels)
      : conv(register_module("conv",
                             nn::Conv2d(nn::Conv2dOptions(channels, channels, 3).padding(1)))) {}
  at::Tensor forward(const at::Tensor& maps) override { return conv(maps).tanh() + maps.square(); }
  nn::Conv2d conv;
};

// Gives something else for zeros than a number.
struct Divided : Expert {
  at::Tensor forward(const at::Tensor& maps) override { return maps / maps; }
};

struct Halved : Expert {
  at::Tensor forward(const at::Tensor& maps) override { return maps.narrow(2, 0, 1); }
};

constexpr std::int64_t channels = 5;

std::shared_ptr<ExpertMixture> mixture(std::int64_t count, std::int64_t k, double capacity = 0.0) {
  at::manual_seed(7);
  ExpertMixture::Experts experts;
  for (std::int64_t i = 0; i < count; ++i)
    experts.push_back(std::make_shared<Curved>(channels));
  const auto made = std::make_shared<ExpertMixture>(
      ExpertMixtureOptions{.channels = channels, .chosen = k, .capacity = capacity},
      std::move(experts));
  for (const at::Tensor& parameter : made->parameters())
    parameter.set_data(parameter.detach().to(at::kDouble));
  at::Tensor gate = made->named_parameters()["gate.weight"];
  gate.set_data(at::randn_like(gate));  // far from even
  return made;
}

at::Tensor maps_of(std::int64_t samples) {
  at::manual_seed(11);
  return at::randn({samples, channels, 4, 6}, at::kDouble) +
         at::randn({samples, channels, 1, 1}, at::kDouble);
}

// Each sample on its own, with the experts that it wants alone.
at::Tensor one_by_one(ExpertMixture& of, const at::Tensor& maps, const at::Tensor& weight,
                      const at::Tensor& bias, std::int64_t k) {
  Tensors all;
  for (std::int64_t n = 0; n < maps.size(0); ++n) {
    const at::Tensor one = maps.narrow(0, n, 1);
    const at::Tensor logits = at::linear(one.mean({2, 3}), weight.flatten(1), bias)[0];
    const auto [values, experts] = at::topk(logits, k);
    const at::Tensor shares = values.softmax(0);
    at::Tensor sum = at::zeros_like(one);
    for (std::int64_t j = 0; j < k; ++j)
      sum = sum + shares[j] * of.experts()[experts[j].item<std::int64_t>()]->forward(one);
    all.push_back(sum);
  }
  return at::cat(all);
}

Tensors gradients_of(const at::Tensor& result, const at::Tensor& maps, const ExpertMixture& of) {
  Tensors leaves = of.parameters();
  leaves.push_back(maps);
  const at::Tensor towards = at::arange(result.numel(), at::kDouble).cos().view(result.sizes());
  return torch::autograd::grad({(result * towards).sum()}, leaves, {}, std::nullopt, false,
                               /*allow_unused=*/true);
}

double off(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// An expert's first gradient, by its number.
at::Tensor expert_gradient(const Tensors& gradients, std::size_t expert) {
  return gradients[2 + 2 * expert];  // behind the gate's
}

}  // namespace

TEST_CASE("a mixture of all experts is the sum of all, weighed by a softmax") {
  const auto all = mixture(4, 4);
  const at::Tensor maps = maps_of(6);
  const Mixed mixed = all->forward(maps);
  const at::Tensor shares = mixed.logits.softmax(1);
  at::Tensor sum = at::zeros_like(maps);
  for (std::int64_t i = 0; i < 4; ++i)
    sum = sum + shares.select(1, i).view({-1, 1, 1, 1}) * all->experts()[i]->forward(maps);
  CHECK(off(mixed.maps, sum) < 1e-12);
}

TEST_CASE("a routed mixture is what each sample's own experts make, and so are all gradients") {
  for (const std::int64_t k : {1, 2, 3}) {
    for (const std::int64_t samples : {1, 2, 9}) {
      CAPTURE(k);
      CAPTURE(samples);
      const auto routed = mixture(5, k);
      at::Tensor gate_bias = routed->named_parameters()["gate.bias"];
      gate_bias.set_data(at::tensor({0., 0., -1e3, 0., 0.}, at::kDouble));  // the third: nobody's
      const at::Tensor maps = maps_of(samples).requires_grad_(true);
      const auto named = routed->named_parameters();
      const at::Tensor expected =
          one_by_one(*routed, maps, named["gate.weight"], named["gate.bias"], k);
      const Mixed mixed = routed->forward(maps);
      CHECK(off(mixed.maps, expected) < 1e-12);
      CHECK_FALSE((mixed.chosen == 2).any().item<bool>());

      const Tensors given = gradients_of(mixed.maps, maps, *routed);
      const Tensors wanted = gradients_of(expected, maps, *routed);
      for (std::size_t i = 0; i < given.size(); ++i) {
        CAPTURE(i);
        REQUIRE(given[i].defined());
        // Of one expert alone the share is 1, whatever the gate says.
        const at::Tensor plain = wanted[i].defined() ? wanted[i] : at::zeros_like(given[i]);
        CHECK(off(given[i], plain) < 1e-10);
      }
      CHECK(expert_gradient(given, 2).abs().max().item<double>() == 0.0);
      CHECK_FALSE(expert_gradient(wanted, 2).defined());
    }
  }
}

TEST_CASE("a mixture's results do not depend on the number of threads or on who else is there") {
  const auto routed = mixture(5, 2);
  const at::Tensor maps = maps_of(9);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = routed->forward(maps).maps;
  for (const int count : {2, 3}) {
    at::set_num_threads(count);
    CHECK(at::equal(routed->forward(maps).maps, alone));
  }
  at::set_num_threads(threads);

  const at::Tensor order = at::tensor({4, 8, 0, 2, 7, 1, 3, 6, 5}, at::kLong);
  CHECK(off(routed->forward(maps.index_select(0, order)).maps, alone.index_select(0, order)) <
        1e-12);
  for (std::int64_t n = 0; n < 9; ++n)
    CHECK(off(routed->forward(maps.narrow(0, n, 1)).maps, alone.narrow(0, n, 1)) < 1e-12);
}

TEST_CASE("what is not finite in a sample stays in that sample") {
  const auto routed = mixture(5, 2);
  const at::Tensor maps = maps_of(6);
  const at::Tensor clean = routed->forward(maps).maps;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    at::Tensor spoilt = maps.clone();
    spoilt[3][1][2].fill_(value);
    const at::Tensor made = routed->forward(spoilt).maps;
    CHECK_FALSE(at::isfinite(made[3]).all().item<bool>());
    for (const std::int64_t other : {0, 1, 2, 4, 5})
      CHECK(off(made[other], clean[other]) < 1e-12);
  }
  const auto divided = std::make_shared<ExpertMixture>(
      ExpertMixtureOptions{.channels = channels, .chosen = 1},
      ExpertMixture::Experts{std::make_shared<Divided>(), std::make_shared<Divided>(),
                             std::make_shared<Divided>()});
  CHECK(at::equal(divided->forward(maps.to(at::kFloat)).maps, at::ones({6, channels, 4, 6})));
}

TEST_CASE("a capacity drops an expert's last samples in training, and none in evaluation") {
  constexpr std::int64_t samples = 7;
  const auto full = mixture(3, 1);
  const auto limited = mixture(3, 1, 1.2);
  const std::int64_t most = 3;  // 1.2 * 7 / 3 = 2.8
  at::Tensor bias = full->named_parameters()["gate.bias"];
  bias.set_data(at::tensor({1.5, 0., 0.}, at::kDouble));
  limited->named_parameters()["gate.bias"].set_data(bias.detach().clone());
  const at::Tensor maps = maps_of(samples);
  const Mixed whole = full->forward(maps);
  const Mixed cut = limited->forward(maps);
  CHECK(at::equal(cut.chosen, whole.chosen));
  std::vector<std::int64_t> taken(3, 0);
  std::int64_t dropped = 0;
  for (std::int64_t n = 0; n < samples; ++n) {
    const bool fits = taken[whole.chosen[n][0].item<std::int64_t>()]++ < most;
    CHECK(off(cut.maps[n], fits ? whole.maps[n] : at::zeros_like(whole.maps[n])) < 1e-12);
    dropped += fits ? 0 : 1;
  }
  CHECK(dropped > 0);
  CHECK(at::equal(limited->load(), full->load()));  // what was wanted, not what was done

  limited->eval();
  CHECK(off(limited->forward(maps).maps, whole.maps) < 1e-12);
  // Never more rows than samples.
  CHECK(off(mixture(3, 3, 50.0)->forward(maps).maps, mixture(3, 3)->forward(maps).maps) < 1e-12);
}

TEST_CASE("a mixture counts its experts' load in training, and once where it is checkpointed") {
  for (const bool checkpointed : {false, true}) {
    CAPTURE(checkpointed);
    const auto routed = mixture(4, 2);
    routed->checkpoint_block("experts", checkpointed);
    const at::Tensor maps = maps_of(6).requires_grad_(true);
    at::Tensor counts = at::zeros({4}, at::kLong);
    for (int step = 0; step < 2; ++step) {
      const Mixed mixed = routed->forward(maps);
      mixed.maps.sum().backward();
      counts += mixed.chosen.flatten().bincount({}, 4);
    }
    CHECK(at::equal(routed->load(), counts.to(at::kFloat)));
    CHECK(routed->load().sum().item<double>() == 2 * 6 * 2);
    routed->eval();
    routed->forward(maps);
    CHECK(routed->load().sum().item<double>() == 2 * 6 * 2);
  }
  CHECK(load_evenness(at::tensor({3., 3., 3.})) == Approx(1.0));
  CHECK(load_evenness(at::tensor({3., 0., 0.})) == 0.0);
  CHECK(load_evenness(at::tensor({0., 0.})) == 0.0);
  CHECK(load_evenness(at::tensor({1., 1., 0., 0.})) == Approx(.5));
}

TEST_CASE("a checkpointed mixture has the gradients of a plain one") {
  const auto plain = mixture(4, 2);
  const auto checkpointed = mixture(4, 2);
  checkpointed->checkpoint_block("experts", true);
  const at::Tensor maps = maps_of(6).requires_grad_(true);
  const auto gradients = [&](ExpertMixture& of) {
    const Mixed mixed = of.forward(maps);
    const at::Tensor loss =
        mixed.maps.square().sum() + expert_balance_loss(mixed.logits, mixed.chosen);
    Tensors leaves = of.parameters();
    leaves.push_back(maps);
    const at::Tensor copy = maps.grad();
    for (at::Tensor& leaf : leaves)
      leaf.mutable_grad().reset();
    loss.backward();
    Tensors found;
    for (const at::Tensor& leaf : leaves)
      found.push_back(leaf.grad().clone());
    return found;
  };
  const Tensors expected = gradients(*plain);
  const Tensors given = gradients(*checkpointed);
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(off(given[i], expected[i]) <= 1e-12 * (1.0 + expected[i].abs().max().item<double>()));
}

TEST_CASE("neither a step of a mixture nor its memory's shape depends on values") {
  for (const double capacity : {0.0, 1.0}) {
    const auto routed = mixture(4, 2, capacity);
    for (const at::Tensor& tensor : routed->parameters())
      tensor.set_data(tensor.detach().to(at::kFloat));
    struct Whole : nn::Module {
      explicit Whole(std::shared_ptr<ExpertMixture> of)
          : moe(register_module("moe", std::move(of))) {}
      at::Tensor forward(const at::Tensor& maps) {
        const Mixed mixed = moe->forward(maps);
        return mixed.maps.sum() + expert_balance_loss(mixed.logits, mixed.chosen);
      }
      std::shared_ptr<ExpertMixture> moe;
    };
    for (const bool lowered : {false, true}) {
      MetaNetwork meta(std::make_unique<ModuleNetwork<Whole>>(std::make_shared<Whole>(routed)),
                       lowered);
      const HostCopies copies;
      meta.forward(at::empty({6, channels, 4, 6}, at::device(at::kMeta))).backward();
      CHECK(copies.found().empty());
    }
  }
}

TEST_CASE("a mixture that cannot be is refused") {
  const auto experts = [](std::size_t count) {
    ExpertMixture::Experts made;
    for (std::size_t i = 0; i < count; ++i)
      made.push_back(std::make_shared<Curved>(channels));
    return made;
  };
  CHECK_THROWS_WITH_AS(ExpertMixture({.channels = channels, .chosen = 4}, experts(3)),
                       Contains("1 to the number of experts, 3, got 4"), ConfigError);
  CHECK_THROWS_AS(ExpertMixture({.channels = channels, .chosen = 0}, experts(3)), ConfigError);
  CHECK_THROWS_AS(ExpertMixture({.channels = 0, .chosen = 1}, experts(3)), ConfigError);
  CHECK_THROWS_WITH_AS(
      ExpertMixture({.channels = channels, .chosen = 1, .capacity = -1.0}, experts(3)),
      Contains("capacity must be 0 (no limit) or above, got -1"), ConfigError);
  CHECK_THROWS_WITH_AS(mixture(3, 2)->forward(at::rand({2, 4, 3, 3}, at::kDouble)),
                       Contains("maps must be [N, 5, H, W], got [2, 4, 3, 3]"), DataError);
  ExpertMixture halved({.channels = channels, .chosen = 1}, {std::make_shared<Halved>()});
  CHECK_THROWS_WITH_AS(halved.forward(at::rand({2, channels, 4, 4})), Contains("from expert 0"),
                       ConfigError);
}
