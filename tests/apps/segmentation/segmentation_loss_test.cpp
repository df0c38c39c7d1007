#include <headrace/apps/task/loss_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/region_loss.h>
#include <headrace/tests/apps/segmentation/loss_list.h>

#include "../../support/torch_doctest.h"

#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

namespace headrace {
using test::loss_list;

namespace {

training::Output output_of(const std::vector<std::int64_t>& deep_sides) {
  training::Output output{.main = at::rand({2, 3, 16, 16})};
  for (const std::int64_t side : deep_sides)
    output.deep.push_back(at::rand({2, 3, side, side}));
  return output;
}

training::Example masks() {
  return {.targets = {{"mask", at::randint(0, 3, {2, 16, 16}, at::kLong)}}};
}

}  // namespace

TEST_CASE("terms of a list are those of the models, with their factors and weights") {
  const training::Output output = output_of({});
  const training::Example example = masks();
  const auto terms =
      app::loss_terms(loss_list("[{cross_entropy: {smoothing: 0.1}}, {dice: {}, factor: 2}]"),
                      output, example, {.ignore = 2});
  REQUIRE(terms.size() == 2);
  const at::Tensor& target = example.targets.at("mask");
  const auto entropy = models::mean_cross_entropy(
      output.main, target, {.label_smoothing = 0.1, .weights = {.ignore = 2}});
  CHECK(terms[0].name == "cross_entropy");
  CHECK(at::equal(terms[0].value, entropy.value));
  CHECK(at::equal(terms[0].weight, entropy.weight));
  const auto dice = models::soft_dice_loss(output.main, target, {.background = false, .ignore = 2});
  CHECK(terms[1].factor == 2.0);
  CHECK(at::equal(terms[1].value, dice.value));
}

TEST_CASE("deep outputs count half as much as the finer one, the coarsest nothing") {
  const training::Output output = output_of({8, 4, 2});
  const training::Example example = masks();
  const auto terms =
      app::loss_terms(loss_list("[{cross_entropy: {}, on: deep, factor: 3}]"), output, example, {});
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].name == "cross_entropy_deep1");
  CHECK(terms[0].factor == doctest::Approx(2.0));
  CHECK(terms[1].factor == doctest::Approx(1.0));
  const at::Tensor half = example.targets.at("mask").slice(1, 0, 16, 2).slice(2, 0, 16, 2);
  CHECK(at::equal(terms[0].value, models::mean_cross_entropy(output.deep[0], half).value));
}

TEST_CASE("a term on an output that the network has not is refused with those it has") {
  training::Output output = output_of({8});
  output.extra["edges"] = at::rand({2, 3, 16, 16});
  try {
    app::loss_terms(loss_list("[{iou: {}, on: egdes}]"), output, masks(), {});
    FAIL("there is no such output");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("(main, deep, edges), got \"egdes\"") !=
          std::string::npos);
  }
}

TEST_CASE("deep outputs of volumes are judged at the voxels that nnU-Net takes") {
  training::Output output{.main = at::rand({2, 3, 8, 12, 12})};
  output.deep = {at::rand({2, 3, 8, 6, 6}), at::rand({2, 3, 4, 3, 5}), at::rand({2, 3, 2, 2, 2})};
  training::Example example{.targets = {{"label", at::randint(0, 3, {2, 8, 12, 12}, at::kLong)}}};
  const app::LossList list = loss_list("[{cross_entropy: {}, on: deep}]");
  const auto terms = app::loss_terms(list, output, example, {.target = "label"});
  REQUIRE(terms.size() == 2);
  const at::Tensor& label = example.targets.at("label");
  // Of 2 voxels the second; of 12 to 5 those at (i + 0.5) * 2.4.
  const at::Tensor half = label.slice(2, 1, 12, 2).slice(3, 1, 12, 2);
  CHECK(at::equal(terms[0].value, models::mean_cross_entropy(output.deep[0], half).value));
  const at::Tensor places = ((at::arange(5, at::kDouble) + 0.5) * 2.4).floor().to(at::kLong);
  const at::Tensor coarse = label.slice(1, 1, 8, 2).slice(2, 2, 12, 4).index_select(3, places);
  CHECK(at::equal(terms[1].value, models::mean_cross_entropy(output.deep[1], coarse).value));

  // Where the augment list has made one of that size it is taken: thin surfaces stay in it.
  const at::Tensor made = at::randint(0, 3, {2, 4, 3, 5}, at::kLong);
  example.targets.emplace("label_2", made);
  const auto with_made = app::loss_terms(list, output, example, {.target = "label"});
  CHECK(at::equal(with_made[0].value, terms[0].value));
  CHECK(at::equal(with_made[1].value, models::mean_cross_entropy(output.deep[1], made).value));
  CHECK_FALSE(at::equal(with_made[1].value, terms[1].value));
  CHECK_THROWS_WITH_AS(app::loss_terms(list, output, example, {.target = "mask"}),
                       doctest::Contains("must be a target \"mask\""), ConfigError);
}

TEST_CASE("labels of volumes that count nowhere count in no output") {
  training::Output output{.main = at::rand({1, 3, 4, 8, 8}), .deep = {at::rand({1, 3, 4, 4, 4})}};
  training::Example example{.targets = {{"label", at::randint(0, 3, {1, 4, 8, 8}, at::kLong)}}};
  const app::LossList list =
      loss_list("[cross_entropy, {cross_entropy: {}, on: deep}, dice, {dice: {}, on: deep}]");
  const app::LossContext context{.ignore = 9, .target = "label"};
  example.targets["label"].slice(2, 4, 8).fill_(9);
  const auto terms = app::loss_terms(list, output, example, context);
  for (at::Tensor scores : {output.main.slice(3, 4, 8), output.deep[0].slice(3, 2, 4)})
    scores.copy_(at::rand(scores.sizes()) * 100);
  const auto others = app::loss_terms(list, output, example, context);
  REQUIRE(terms.size() == 4);
  for (std::size_t i = 0; i < terms.size(); ++i)
    CHECK(at::equal(terms[i].value, others[i].value));
}

}  // namespace headrace
