#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cubical_persistence.h>
#include <headrace/models/losses/topology_loss.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/topology_shapes.h>

#include "../support/torch_doctest.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

TopologyTargets targets_of(const std::vector<Betti>& rows) {
  at::Tensor betti = at::empty({static_cast<std::int64_t>(rows.size()), 3}, at::kLong);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t k = 0; k < 3; ++k)
      betti[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(k)] = rows[row].at(k);
  return {.betti = betti};
}

at::Tensor line_logits(std::initializer_list<double> p) {
  return at::logit(at::tensor(p, at::kDouble)).view({1, 1, 1, 1, -1});
}

double cost(const at::Tensor& logits, const Betti& betti) {
  return topology_loss(logits, targets_of({betti})).value.item<double>();
}

at::Tensor gradient_of(const at::Tensor& logits, const TopologyTargets& targets,
                       const TopologyLossOptions& options = {}) {
  return gradient([&](auto& z, auto&) { return topology_loss(z, targets, options).value; }, logits,
                  {});
}

at::Tensor noise(std::int64_t rows, std::int64_t side) {
  return hashed_fill("topology", {rows, 1, side, side, side}, 0.0, 3.0).to(at::kFloat);
}

}  // namespace

TEST_CASE("kept features are drawn to full length, others together") {
  const at::Tensor z = line_logits({.8, .3, .7, .2, .4});
  CHECK(cost(z, {1, 0, 0}) == Approx(.04 + .16 + .04));
  CHECK(cost(z, {2, 0, 0}) == Approx(.04 + (.09 + .09) + .04));
  CHECK(cost(z, {3, 0, 0}) == Approx(.04 + (.09 + .09) + (.36 + .04)));
  CHECK(cost(z, {0, 0, 0}) == Approx(.64 + .16 + .04));
  CHECK(cost(z, {4, 1, 2}) == Approx(.04 + (.09 + .09) + (.36 + .04) + .5 * 4));
  const at::Tensor expected = at::tensor({-.4, -.8, .8, -.4, .4}, at::kDouble);
  const at::Tensor p = at::sigmoid(z).view(-1);
  CHECK(at::allclose(gradient_of(z, targets_of({{1, 0, 0}})).view(-1), expected * p * (1 - p)));
}

TEST_CASE("the cost is a mean over rows by their weights") {
  const at::Tensor z =
      at::cat({line_logits({.8, .3, .7}), line_logits({.9, .6, .5}), line_logits({.2, .1, .3})});
  TopologyTargets targets = targets_of({{1, 0, 0}, {1, 0, 0}, {0, 0, 0}});
  const double first = .04 + .16;
  const double second = .01;
  const double third = .09 + .01;
  const MeanLoss plain = topology_loss(z, targets);
  CHECK(plain.value.item<double>() == Approx((first + second + third) / 3));
  CHECK(plain.weight.item<double>() == 3);
  targets.of_samples = at::tensor({1., 0., .5}, at::kDouble);
  const MeanLoss weighted = topology_loss(z, targets);
  CHECK(weighted.value.item<double>() == Approx((first + .5 * third) / 1.5));
  CHECK(weighted.weight.item<double>() == 1.5);
  at::Tensor spoilt = z.clone();
  spoilt[1].fill_(std::nan(""));
  CHECK(topology_loss(spoilt, targets).value.item<double>() == weighted.value.item<double>());
  CHECK(gradient_of(spoilt, targets)[1].abs().max().item<double>() == 0.0);
}

TEST_CASE("what is ignored is no foreground and has no gradient, whatever it holds") {
  const at::Tensor z = hashed_fill("ignoring", {2, 1, 5, 6, 7}, 0.0, 2.0);
  TopologyTargets targets = targets_of({{1, 0, 0}, {2, 1, 0}});
  const at::Tensor unknown = hashed_fill("unknown", z.sizes(), 0.0, 1.0) > .2;
  targets.labels = at::where(unknown, 2, 1).squeeze(1).to(at::kByte);
  const TopologyLossOptions ignoring{.ignore = 2};
  const double value = topology_loss(z, targets, ignoring).value.item<double>();
  const at::Tensor given = gradient_of(z, targets, ignoring);
  CHECK(given.abs().max().item<double>() > 0.0);
  CHECK(value != topology_loss(z, targets).value.item<double>());
  for (const double there : {std::nan(""), std::numeric_limits<double>::infinity(), -1e300, 50.0}) {
    const at::Tensor other = at::where(unknown, there, z);
    CHECK(topology_loss(other, targets, ignoring).value.item<double>() == value);
    CHECK(at::equal(gradient_of(other, targets, ignoring), given));
  }
  CHECK(at::where(unknown, given, 0.0).abs().max().item<double>() == 0.0);
  targets.labels.fill_(2);
  targets.betti.zero_();
  CHECK(topology_loss(z, targets, ignoring).value.item<double>() == 0.0);
  CHECK(gradient_of(z, targets, ignoring).abs().max().item<double>() == 0.0);
}

TEST_CASE("the middle is looked at, and nothing else") {
  CHECK(topology_range(72, 48).begin == 12);
  CHECK(topology_range(72, 48).size == 48);
  CHECK(topology_range(5, 48).begin == 0);
  CHECK(topology_range(5, 48).size == 5);
  CHECK(topology_range(9, 4).begin == 2);
  const at::Tensor z = hashed_fill("cropped", {1, 1, 9, 3, 10}, 0.0, 2.0);
  const at::Tensor middle = z.narrow(2, 2, 4).narrow(4, 3, 4);
  const TopologyTargets targets = targets_of({{1, 0, 0}});
  const TopologyLossOptions small{.side = 4};
  CHECK(topology_loss(z, targets, small).value.item<double>() ==
        topology_loss(middle, targets).value.item<double>());
  at::Tensor given = gradient_of(z, targets, small);
  CHECK(at::equal(given.narrow(2, 2, 4).narrow(4, 3, 4), gradient_of(middle, targets)));
  given.narrow(2, 2, 4).narrow(4, 3, 4).zero_();
  CHECK(given.abs().max().item<double>() == 0.0);
}

TEST_CASE("a loss begun beside a step is the same on 1, 2 and 8 threads, and at once") {
  const at::Tensor z = noise(5, 10);
  const TopologyTargets targets =
      targets_of({{1, 0, 0}, {2, 1, 0}, {0, 0, 0}, {30, 4, 1}, {1, 0, 2}});
  const at::Tensor value = topology_loss(z, targets).value;
  const at::Tensor given = gradient_of(z, targets);
  for (const int threads : {1, 2, 8}) {
    TopologyLoss loss({}, {.threads = threads});
    const at::Tensor leaf = z.clone().set_requires_grad(true);
    TopologyPending first = loss.begin(leaf, targets);
    TopologyPending second = loss.begin(leaf, targets);
    const MeanLoss mean = loss.finish(std::move(first));
    CHECK(at::equal(mean.value, value));
    mean.value.backward();
    CHECK(at::equal(leaf.grad(), given));
    CHECK(at::equal(loss.finish(std::move(second)).value, value));
  }
}

TEST_CASE("the wait for a loss is counted") {
  TopologyLoss loss({}, {.threads = 1});
  CHECK(loss.waits().count == 0);
  const TopologyTargets targets = targets_of({{1, 0, 0}, {1, 0, 0}});
  // A busy machine may be through with one before it is asked for.
  for (int attempt = 0; attempt < 100 && loss.waits().count == 0; ++attempt) {
    const MeanLoss mean = loss.finish(loss.begin(noise(2, 20), targets));
    CHECK(std::isfinite(mean.value.item<double>()));
  }
  CHECK(loss.waits().count == 1);
  CHECK(loss.waits().seconds > 0.0);
}

TEST_CASE("a loss that is not finished, or whose owner is gone, harms nothing") {
  const TopologyTargets targets = targets_of({{1, 0, 0}, {1, 0, 0}});
  std::optional<TopologyLoss> loss(std::in_place);
  const at::Tensor z = noise(2, 16);
  { const TopologyPending dropped = loss->begin(z, targets); }
  CHECK(at::equal(loss->finish(loss->begin(z, targets)).value, topology_loss(z, targets).value));
  const TopologyPending left = loss->begin(z, targets);
  loss.reset();
  loss.emplace();
  CHECK_THROWS_WITH_AS(static_cast<void>(loss->finish({})),
                       "[topology_loss] finish takes what begin gave, and once; got nothing",
                       headrace::ConfigError);
}

TEST_CASE("what fails in a worker comes with finish, and the next loss is well") {
  TopologyLoss loss;
  const at::Tensor z = noise(2, 5);
  TopologyPending bad = loss.begin(z, targets_of({{1, 0, 0}, {1, -2, 0}}));
  CHECK_THROWS_WITH_AS(static_cast<void>(loss.finish(std::move(bad))),
                       "[topology_loss] Betti numbers must not be negative, got -2",
                       headrace::ConfigError);
  const TopologyTargets good = targets_of({{1, 0, 0}, {1, 0, 0}});
  CHECK(at::equal(loss.finish(loss.begin(z, good)).value, topology_loss(z, good).value));
}

TEST_CASE("rows without foreground, of one value, and batches without rows have a loss") {
  const at::Tensor flat = at::full({1, 1, 4, 4, 4}, -3.0, at::kDouble);
  const double p = 1 / (1 + std::exp(3.0));
  CHECK(cost(flat, {0, 0, 0}) == Approx(p * p));
  CHECK(cost(flat, {1, 0, 0}) == Approx((1 - p) * (1 - p)));
  const at::Tensor one = at::zeros({1, 1, 1, 1, 1}, at::kDouble);
  CHECK(cost(one, {1, 0, 0}) == Approx(.25));
  for (const double far : {-1e3, 1e3}) {
    const at::Tensor saturated = at::full({1, 1, 3, 3, 3}, far);
    CHECK(std::isfinite(cost(saturated, {1, 0, 0})));
    CHECK(at::isfinite(gradient_of(saturated, targets_of({{1, 0, 0}}))).all().item<bool>());
  }
  const at::Tensor none = at::zeros({0, 1, 4, 4, 4});
  TopologyLoss loss;
  const MeanLoss mean = loss.finish(loss.begin(none, targets_of({})));
  CHECK(mean.value.item<double>() == 0.0);
  CHECK(mean.weight.item<double>() == 0.0);
}

TEST_CASE("logits that are not numbers give a loss that is none, as other losses do") {
  at::Tensor z = noise(2, 4);
  z[1][0][2][2][2] = std::nan("");
  const TopologyTargets targets = targets_of({{1, 0, 0}, {1, 0, 0}});
  CHECK(std::isnan(topology_loss(z, targets).value.item<double>()));
  CHECK(std::isnan(gradient_of(z, targets).sum().item<double>()));
}

TEST_CASE("the loss is begun without a look at values") {
  const auto on_meta = [](at::IntArrayRef shape, at::ScalarType type) {
    return at::empty(shape, at::TensorOptions(type).device(at::kMeta));
  };
  TopologyLoss loss({.side = 4, .ignore = 2});
  const at::Tensor z = on_meta({2, 1, 6, 8, 8}, at::kBFloat16).set_requires_grad(true);
  const MeanLoss mean = loss.finish(loss.begin(z, {.betti = on_meta({2, 3}, at::kInt),
                                                   .labels = on_meta({2, 6, 8, 8}, at::kByte),
                                                   .of_samples = on_meta({2}, at::kFloat)}));
  CHECK((mean.value.scalar_type() == at::kFloat));
  CHECK_FALSE(mean.weight.requires_grad());
  mean.value.backward();
  CHECK((z.grad().sizes() == z.sizes()));
  CHECK(loss.waits().count == 0);
}

TEST_CASE("volumes, Betti numbers and sides that do not fit are refused") {
  const at::Tensor z = at::zeros({2, 1, 3, 3, 3});
  const TopologyTargets good = targets_of({{1, 0, 0}, {1, 0, 0}});
  CHECK_THROWS_WITH_AS(
      topology_loss(at::zeros({2, 2, 3, 3, 3}), good),
      "[topology_loss] logits must be [N, 1, depth, height, width], got [2, 2, 3, 3, 3]",
      headrace::ConfigError);
  CHECK_THROWS_WITH_AS(topology_loss(z, targets_of({{1, 0, 0}})),
                       "[topology_loss] Betti numbers must be integers [2, 3], got [1, 3]",
                       headrace::ConfigError);
  CHECK_THROWS_AS(topology_loss(z, {.betti = at::zeros({2, 3})}), headrace::ConfigError);
  CHECK_THROWS_AS(topology_loss(z, {}), headrace::ConfigError);
  CHECK_THROWS_AS(topology_loss(z, good, {.ignore = 2}), headrace::ConfigError);
  CHECK_THROWS_WITH_AS(TopologyLoss({.side = 49}), "[topology_loss] side must be 1 to 48, got 49",
                       headrace::ConfigError);
  std::array<float, 2> p{};
  CHECK_THROWS_AS(topology_cost<float>({.probabilities = p, .shape = {1, 1, 2}}, {}),
                  headrace::ConfigError);
}
