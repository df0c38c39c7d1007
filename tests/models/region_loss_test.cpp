// Soft Dice and IoU beside nnU-Net's and MONAI's (reference/make_loss_values.py), which sum in
// float.
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/region_loss.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/reference/loss_values.h>
#include <headrace/tests/models/segmentation_maps.h>

#include "../support/torch_doctest.h"

#include <utility>
#include <vector>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

at::Tensor region_logits() {
  return values({3, 4, 5, 6}, 9);
}

at::Tensor region_classes() {
  return classes({3, 5, 6}, 4, 10);
}

double dice(const at::Tensor& target, const RegionLossOptions& options) {
  return soft_dice_loss(region_logits(), target, options).value.item<double>();
}

const std::vector<std::pair<const char*, Loss>>& losses_of_classes() {
  static const RegionLossOptions picky{.batch = true,
                                       .background = false,
                                       .ignore = ignored,
                                       .of_samples = at::tensor({1., 0., 1.}, at::kDouble)};
  static const RegionLossOptions weighted{.ignore = ignored,
                                          .of_samples = at::tensor({1., 0., .5}, at::kDouble)};
  static const std::vector<std::pair<const char*, Loss>> all{
      {"Dice", [](auto& z, auto& t) { return soft_dice_loss(z, t).value; }},
      {"Dice of the batch", [](auto& z, auto& t) { return soft_dice_loss(z, t, picky).value; }},
      {"IoU", [](auto& z, auto& t) { return soft_iou_loss(z, t).value; }},
      {"IoU of some rows", [](auto& z, auto& t) { return soft_iou_loss(z, t, weighted).value; }},
  };
  return all;
}

}  // namespace

TEST_CASE("soft Dice is nnU-Net's, of rows and of the batch, with and without the background") {
  CHECK(dice(region_classes(), {}) == Approx(reference::dice_rows).epsilon(1e-6));
  CHECK(dice(region_classes(), {.background = false}) ==
        Approx(reference::dice_rows_foreground).epsilon(1e-6));
  CHECK(dice(region_classes(), {.batch = true}) == Approx(reference::dice_batch).epsilon(1e-6));
  const at::Tensor target = with_ignored(region_classes());
  CHECK(dice(target, {.batch = true, .background = false, .ignore = ignored}) ==
        Approx(reference::dice_batch_ignored).epsilon(1e-6));
  CHECK(dice(target, {.ignore = ignored}) == Approx(reference::dice_rows_ignored).epsilon(1e-6));
  CHECK(soft_dice_loss(values({2, 2, 3, 4, 5}, 11), classes({2, 2, 3, 4, 5}, 2, 12),
                       {.sigmoid = true})
            .value.item<double>() == Approx(reference::dice_regions).epsilon(1e-6));
}

TEST_CASE("soft IoU is MONAI's") {
  CHECK(soft_iou_loss(region_logits(), region_classes()).value.item<double>() ==
        Approx(reference::iou_rows).epsilon(1e-6));
  CHECK(soft_iou_loss(values({2, 2, 3, 4, 5}, 11), classes({2, 2, 3, 4, 5}, 2, 12),
                      {.sigmoid = true, .batch = true})
            .value.item<double>() == Approx(reference::iou_regions).epsilon(1e-6));
}

TEST_CASE("region losses of known maps have the values that were computed by hand") {
  const double job[] = {.645409253594898, .424080941328892, .395572578580097};
  const double nnunet[] = {.344017889119944, .567910806946797, .597109820059935};
  const double iou[] = {.792257406257116, .603438861451622, .574371583142655};
  const RegionLossOptions usual{.sigmoid = true};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const at::Tensor z = map_logits(i);
    const at::Tensor t = map_truth().squeeze(1);
    CHECK(soft_dice_loss(z, t, {.smooth = 1.0, .sigmoid = true}).value.item<double>() ==
          Approx(job[i]).epsilon(1e-9));
    CHECK(soft_dice_loss(z, t, usual).value.item<double>() == Approx(1 - nnunet[i]).epsilon(1e-9));
    CHECK(soft_iou_loss(z, t, usual).value.item<double>() == Approx(iou[i]).epsilon(1e-9));
  }
}

TEST_CASE("region losses have the gradient of finite differences, and fall towards the target") {
  const at::Tensor target = with_ignored(region_classes());
  const at::Tensor inside = at::where(target == ignored, 0, target);
  const at::Tensor toward =
      region_logits() + at::zeros_like(region_logits()).scatter_(1, inside.unsqueeze(1), .1);
  for (const auto& [name, loss] : losses_of_classes()) {
    CAPTURE(name);
    CHECK(largest_gradient_error(loss, region_logits(), target) < 1e-6);
    CHECK(loss(toward, target).item<double>() < loss(region_logits(), target).item<double>());
  }
}

TEST_CASE("ignored pixels and absent rows have exactly no gradient and change no value") {
  const at::Tensor target = with_ignored(region_classes());
  const at::Tensor outside = (target == ignored).unsqueeze(1);
  const at::Tensor other = at::where(outside, -region_logits(), region_logits());
  for (const std::size_t i : {1U, 3U}) {
    const auto& [name, loss] = losses_of_classes()[i];
    CAPTURE(name);
    const at::Tensor given = gradient(loss, region_logits(), target);
    CHECK(given.masked_select(outside.expand_as(given)).abs().max().item<double>() == 0.0);
    CHECK(given[1].abs().max().item<double>() == 0.0);
    CHECK(given.abs().max().item<double>() > 0.0);
    CHECK(loss(other, target).item<double>() == loss(region_logits(), target).item<double>());
  }
}

TEST_CASE("the mean of rows does not depend on how they are divided into batches") {
  const at::Tensor weights = at::tensor({1., .5, 2.}, at::kDouble);
  const auto sum = [&](std::int64_t from, std::int64_t to) {
    const MeanLoss loss =
        soft_dice_loss(region_logits().slice(0, from, to), region_classes().slice(0, from, to),
                       {.of_samples = weights.slice(0, from, to)});
    CHECK(loss.weight.item<double>() == weights.slice(0, from, to).sum().item<double>());
    return (loss.value * loss.weight).item<double>();
  };
  CHECK(sum(0, 1) + sum(1, 3) == Approx(sum(0, 3)).epsilon(1e-12));
  CHECK(soft_dice_loss(region_logits(), region_classes()).weight.item<double>() == 3.0);
  CHECK(soft_dice_loss(region_logits(), region_classes(), {.batch = true}).weight.item<double>() ==
        3.0);
}

TEST_CASE("a right prediction has loss 0, and a row without anything that counts has none") {
  const at::Tensor right =
      at::zeros_like(region_logits()).scatter_(1, region_classes().unsqueeze(1), 60.);
  CHECK(soft_dice_loss(right, region_classes()).value.item<double>() == Approx(0).epsilon(1e-6));
  CHECK(soft_iou_loss(right, region_classes()).value.item<double>() == Approx(0).epsilon(1e-6));
  const at::Tensor nothing = at::full({3, 5, 6}, ignored, at::kLong);
  CHECK(dice(nothing, {.ignore = ignored}) == 0.0);
  CHECK(dice(region_classes(), {.of_samples = at::zeros({3})}) == 0.0);
  CHECK(dice(region_classes(), {.batch = true, .of_samples = at::zeros({3})}) == 0.0);
}

TEST_CASE("region losses of half precision are computed in float") {
  const MeanLoss loss = soft_dice_loss(region_logits().to(at::kHalf), region_classes());
  CHECK((loss.value.scalar_type() == at::kFloat));
  CHECK(loss.value.item<double>() == Approx(reference::dice_rows).epsilon(1e-3));
}

TEST_CASE("region losses that make no sense are refused") {
  const at::Tensor one = at::zeros({2, 1, 3, 3});
  CHECK_THROWS_WITH_AS(soft_dice_loss(one, at::zeros({2, 3, 3}, at::kLong)),
                       "[soft_dice_loss] a softmax needs at least 2 channels, got 1; set sigmoid",
                       headrace::ConfigError);
  CHECK_THROWS_AS(soft_iou_loss(region_logits(), at::zeros({3, 5, 5}, at::kLong)),
                  headrace::ConfigError);
  CHECK_THROWS_AS(soft_iou_loss(region_logits(), region_classes(), {.sigmoid = true}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(soft_dice_loss(one, one, {.sigmoid = true, .background = false}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(soft_dice_loss(region_logits(), region_classes(), {.smooth = -1.0}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(soft_dice_loss(at::zeros({2, 3}), at::zeros({2}, at::kLong)),
                  headrace::ConfigError);
}
