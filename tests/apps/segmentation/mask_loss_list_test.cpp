// The loss of camouflaged objects, and what else the list says of masks by sigmoids, beside sums in
// plain loops.
#include <headrace/apps/task/loss_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/tests/apps/segmentation/loss_list.h>

#include "../../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>

namespace app = headrace::app;
namespace models = headrace::models;
namespace training = headrace::training;
using doctest::Approx;
using headrace::test::loss_list;

namespace {

constexpr int map_side = 12;

/// A map of `size` x `size` values.
struct Map {
  int size = 0;
  std::vector<double> values{};

  double at(int y, int x) const {
    const int last = size - 1;
    return values[static_cast<std::size_t>(std::clamp(y, 0, last) * size + std::clamp(x, 0, last))];
  }
};

Map map_of(int size, const std::function<double(int, int)>& value) {
  Map map{.size = size};
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x)
      map.values.push_back(value(y, x));
  return map;
}

Map logits(int size, int seed) {
  return map_of(size, [&](int y, int x) { return ((5 * y + 7 * x + 3 * seed) % 17) * .25 - 2; });
}

Map disc() {
  return map_of(map_side, [](int y, int x) {
    return (x - 4) * (x - 4) + (y - 6) * (y - 6) <= 10 ? 1.0 : 0.0;
  });
}

double sigmoid(double z) {
  return 1 / (1 + std::exp(-z));
}

double entropy(const Map& z, const Map& t) {
  double sum = 0;
  for (std::size_t i = 0; i < z.values.size(); ++i)
    sum -= t.values[i] * std::log(sigmoid(z.values[i])) +
           (1 - t.values[i]) * std::log(1 - sigmoid(z.values[i]));
  return sum / static_cast<double>(z.values.size());
}

double iou_loss(const Map& z, const Map& t) {
  double both = 0;
  double all = 0;
  for (std::size_t i = 0; i < z.values.size(); ++i) {
    both += sigmoid(z.values[i]) * t.values[i];
    all += sigmoid(z.values[i]) + t.values[i];
  }
  return 1 - (both + 1e-5) / (all - both + 1e-5);
}

Map edges(const Map& of) {
  return map_of(of.size, [&](int y, int x) {
    const double across = of.at(y - 1, x + 1) + 2 * of.at(y, x + 1) + of.at(y + 1, x + 1) -
                          of.at(y - 1, x - 1) - 2 * of.at(y, x - 1) - of.at(y + 1, x - 1);
    const double down = of.at(y + 1, x - 1) + 2 * of.at(y + 1, x) + of.at(y + 1, x + 1) -
                        of.at(y - 1, x - 1) - 2 * of.at(y - 1, x) - of.at(y - 1, x + 1);
    return std::sqrt(across * across + down * down + 1e-6);
  });
}

double edge_loss(const Map& z, const Map& t) {
  const Map found = edges(map_of(z.size, [&](int y, int x) { return sigmoid(z.at(y, x)); }));
  const Map wanted = edges(t);
  double sum = 0;
  for (std::size_t i = 0; i < z.values.size(); ++i)
    sum += std::pow(found.values[i] - wanted.values[i], 2);
  return sum / static_cast<double>(z.values.size());
}

Map blended(const Map& from, int size) {
  return map_of(size, [&](int y, int x) {
    const double step = static_cast<double>(from.size) / size;
    const double v = std::max(0.0, (y + .5) * step - .5);
    const double u = std::max(0.0, (x + .5) * step - .5);
    const int top = static_cast<int>(v);
    const int left = static_cast<int>(u);
    const double a = v - top;
    const double b = u - left;
    return (1 - a) * ((1 - b) * from.at(top, left) + b * from.at(top, left + 1)) +
           a * ((1 - b) * from.at(top + 1, left) + b * from.at(top + 1, left + 1));
  });
}

at::Tensor tensor_of(const Map& map) {
  return at::tensor(map.values, at::kDouble).to(at::kFloat).view({1, 1, map.size, map.size});
}

app::LossContext mask_context() {
  return {.sigmoid = true, .ignore = 255};
}

training::Output mask_output(const std::vector<std::int64_t>& deep_sides) {
  training::Output output{.main = at::rand({2, 2, 16, 16})};
  for (const std::int64_t deep : deep_sides)
    output.deep.push_back(at::rand({2, 2, deep, deep}));
  return output;
}

training::Example random_masks() {
  return {.targets = {{"mask", at::randint(0, 2, {2, 2, 16, 16}).to(at::kFloat)}}};
}

}  // namespace

TEST_CASE("the loss of camouflaged objects is the sum that plain loops give") {
  const Map z = logits(map_side, 0);
  const std::vector<Map> deep{logits(6, 1), logits(3, 2), logits(5, 3)};
  training::Output output{.main = tensor_of(z)};
  for (const Map& map : deep)
    output.deep.push_back(tensor_of(map));
  const training::Example example{.targets = {{"mask", tensor_of(disc())}}};
  const auto terms = app::loss_terms(
      loss_list("[{bce: {}, factor: 5}, {iou: 1e-5, factor: 3}, {edge: {}, factor: 2}, "
                "{bce: {}, factor: 0.4, on: deep, shares: equal, resize: bilinear}]"),
      output, example, mask_context());
  REQUIRE(terms.size() == 6);
  const std::vector<std::pair<std::string, double>> wanted{
      {"bce", entropy(z, disc())},
      {"iou", iou_loss(z, disc())},
      {"edge", edge_loss(z, disc())},
      {"bce_deep1", entropy(deep[0], blended(disc(), 6))},
      {"bce_deep2", entropy(deep[1], blended(disc(), 3))},
      {"bce_deep3", entropy(deep[2], blended(disc(), 5))}};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CAPTURE(wanted[i].first);
    CHECK(terms[i].name == wanted[i].first);
    CHECK(terms[i].value.item<double>() == Approx(wanted[i].second).epsilon(1e-5));
  }
  const double mean = (wanted[3].second + wanted[4].second + wanted[5].second) / 3;
  CHECK(training::total(terms).item<double>() ==
        Approx(5 * wanted[0].second + 3 * wanted[1].second + 2 * wanted[2].second + .4 * mean)
            .epsilon(1e-5));
}

TEST_CASE("deep outputs share a term as nnU-Net has it, or equally") {
  const training::Output output = mask_output({8, 4, 2});
  const auto factors = [&](const char* list) {
    std::vector<double> each;
    for (const training::Term& term :
         app::loss_terms(loss_list(list), output, random_masks(), mask_context()))
      each.push_back(term.factor);
    return each;
  };
  CHECK(factors("[{bce: {}, on: deep}]") == std::vector<double>{1 / 1.5, .5 / 1.5});
  CHECK(factors("[{bce: {}, on: deep, shares: halving}]") == factors("[{bce: {}, on: deep}]"));
  CHECK(factors("[{bce: {}, on: deep, shares: equal}]") ==
        std::vector<double>{1.0 / 3, 1.0 / 3, 1.0 / 3});
}

TEST_CASE("masks of several channels become those of a smaller output, by nearest pixels or soft") {
  const training::Output output = mask_output({8, 4});
  training::Example example = random_masks();
  const at::Tensor mask = example.targets.at("mask");
  const auto structure = [&](const char* list) {
    return app::loss_terms(loss_list(list), output, example, mask_context()).at(0).value;
  };
  const at::Tensor nearest = mask.slice(2, 0, 16, 2).slice(3, 0, 16, 2);
  CHECK(at::equal(structure("[{structure: {}, on: deep}]"),
                  models::structure_loss(output.deep[0], nearest).value));
  const at::Tensor soft = (mask.slice(2, 0, 16, 2) + mask.slice(2, 1, 16, 2)) / 2;
  const at::Tensor both = (soft.slice(3, 0, 16, 2) + soft.slice(3, 1, 16, 2)) / 2;
  CHECK(at::equal(structure("[{edge: {}, on: deep, resize: bilinear}]"),
                  models::edge_loss(output.deep[0], both).value));
  // The same without an axis of channels, of any type.
  example.targets["mask"] = mask.select(1, 0).to(at::kLong);
  training::Output one{.main = output.main.narrow(1, 0, 1),
                       .deep = {output.deep[0].narrow(1, 0, 1)}};
  const auto terms = app::loss_terms(loss_list("[{structure: {}, on: deep, resize: bilinear}]"),
                                     one, example, mask_context());
  CHECK(at::equal(terms[0].value, models::structure_loss(one.deep[0], both.narrow(1, 0, 1)).value));
}

TEST_CASE("soft pixels with a part of an ignored one count nowhere") {
  const training::Output output = mask_output({8, 4});
  training::Example example = random_masks();
  at::Tensor mask = example.targets.at("mask");
  mask.slice(2, 0, 4).slice(3, 5, 16).fill_(255);  // columns 4 and 5 make one soft pixel
  const app::LossList list = loss_list("[{bce: {}, on: deep, resize: bilinear, shares: equal}]");
  const auto terms = app::loss_terms(list, output, example, mask_context());
  CHECK(terms[0].weight.item<double>() == 2 * 2 * (64 - 2 * 6));
  at::Tensor scores = output.deep[0].slice(2, 0, 2).slice(3, 2, 8);
  scores.copy_(at::full_like(scores, 1e4));
  CHECK(at::equal(app::loss_terms(list, output, example, mask_context())[0].value, terms[0].value));
  mask.slice(2, 0, 4).slice(3, 5, 16).fill_(0);
  CHECK(app::loss_terms(list, output, example, mask_context())[0].weight.item<double>() ==
        2 * 2 * 64);
}

TEST_CASE("targets are made and judged without a look at their values") {
  training::Output output = mask_output({8, 4});
  output.main = output.main.to(at::kMeta).set_requires_grad(true);
  for (at::Tensor& deep : output.deep)
    deep = deep.to(at::kMeta);
  training::Example example = random_masks();
  example.targets["mask"] = example.targets["mask"].to(at::kMeta);
  example.present = at::ones({2}, at::kBool).to(at::kMeta);
  const auto terms = app::loss_terms(
      loss_list("[bce, iou, edge, structure, {bce: {}, on: deep, shares: equal, resize: bilinear}, "
                "{structure: {}, on: deep}]"),
      output, example, mask_context());
  CHECK(terms.size() == 7);
  CHECK(training::total(terms).is_meta());
}

TEST_CASE("terms of masks by sigmoids are refused for scores of a softmax") {
  const training::Output output = mask_output({8});
  const auto refused = [&](const char* list, const char* part) {
    CHECK_THROWS_WITH_AS(app::loss_terms(loss_list(list), output, random_masks(), {}),
                         doctest::Contains(part), headrace::ConfigError);
  };
  refused("[edge]", "loss edge judges masks of sigmoids, but these scores are of a softmax");
  refused("[structure]", "loss structure judges masks of sigmoids");
  refused("[{dice: {}, on: deep, resize: bilinear}]",
          "loss dice with resize: bilinear judges masks of sigmoids");
}
