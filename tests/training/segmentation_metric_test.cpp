#include <headrace/engine/base/error.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/segmentation_maps.h>
#include <headrace/tests/training/figure_cases.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include "../support/torch_doctest.h"

#include <cmath>

using namespace headrace::test;
using namespace headrace::training;
using doctest::Approx;

namespace {

SegmentationOptions three_classes() {
  return {.classes = {"sky", "tree", "road"}, .ignore = ignored};
}

at::Tensor scores() {
  return values({4, 3, 5, 6}, 40).to(at::kFloat).softmax(1);
}

at::Tensor masks() {
  return with_ignored(classes({4, 5, 6}, 3, 41)).to(at::kByte);
}

// 2 both / (both + one), or both / either, by a count of pixels.
double counted_dice(std::int64_t k, bool iou) {
  const at::Tensor counts = masks() != ignored;
  const at::Tensor there = (masks() == k) & counts;
  const at::Tensor given = (scores().argmax(1) == k) & counts;
  const double both = (there & given).sum().item<double>();
  const double sum = there.sum().item<double>() + given.sum().item<double>();
  return iou ? both / (sum - both) : 2 * both / sum;
}

}  // namespace

TEST_CASE("Dice and IoU come from all pixels that are not to be ignored") {
  for (const std::int64_t batch : {4, 1}) {
    SegmentationMetric metric(three_classes());
    for (std::int64_t i = 0; i < 4; i += batch)
      metric.add(evaluated(scores().slice(0, i, i + batch), masks().slice(0, i, i + batch)));
    const Figures figures = metric.result();
    CHECK(names_of(figures) ==
          "mean_dice mean_iou pixel_accuracy dice_sky iou_sky dice_tree iou_tree dice_road "
          "iou_road");
    CHECK(figure(figures, "dice_tree") == Approx(counted_dice(1, false)).epsilon(1e-12));
    CHECK(figure(figures, "iou_road") == Approx(counted_dice(2, true)).epsilon(1e-12));
    CHECK(figure(figures, "mean_dice") ==
          Approx((counted_dice(1, false) + counted_dice(2, false)) / 2).epsilon(1e-12));
    CHECK(metric.confusion()->total() == 120 - 10);
  }
}

TEST_CASE("the background is in the means where it is asked for") {
  SegmentationOptions options = three_classes();
  options.background = true;
  SegmentationMetric metric(options);
  metric.add(evaluated(scores(), masks().unsqueeze(1)));
  CHECK(figure(metric.result(), "mean_iou") ==
        Approx((counted_dice(0, true) + counted_dice(1, true) + counted_dice(2, true)) / 3)
            .epsilon(1e-12));
}

TEST_CASE("a class that is nowhere is not a number and in no mean") {
  SegmentationMetric metric({.classes = {"background", "organ", "tumour"}});
  const at::Tensor target = classes({2, 4, 4}, 2, 1);
  metric.add(
      evaluated(at::stack({target == 0, target == 1, target == 2}, 1).to(at::kFloat), target));
  const Figures figures = metric.result();
  CHECK(std::isnan(figure(figures, "dice_tumour")));
  CHECK(figure(figures, "mean_dice") == 1.0);
}

TEST_CASE("absent rows have no pixels, and a class that is none is reported") {
  SegmentationMetric metric(three_classes());
  at::Tensor target = masks();
  target[3].fill_(77);
  metric.add(evaluated(scores(), target, at::arange(4) < 3));
  CHECK(metric.confusion()->total() ==
        (masks().slice(0, 0, 3) != ignored).sum().item<std::int64_t>());
  metric.add(evaluated(scores(), target));
  CHECK_THROWS_AS(metric.result(), headrace::DataError);
}

TEST_CASE("the mask is found by its name among several targets") {
  SegmentationOptions options = three_classes();
  options.target = "mask";
  SegmentationMetric metric(options);
  Cases cases = evaluated(scores(), masks());
  CHECK_THROWS_WITH_AS(metric.add(cases), "[example] there must be a target \"mask\", got target",
                       headrace::ConfigError);
  cases.example.targets = {{"mask", masks()}, {"mask_deep", masks().slice(1, 0, 2)}};
  metric.add(cases);
  CHECK(figure(metric.result(), "dice_tree") == Approx(counted_dice(1, false)).epsilon(1e-12));
}

TEST_CASE("segmentation that learns goes on after a stop as if there had been none") {
  const at::Tensor logits = values({4, 3, 5, 6}, 40);
  SegmentationMetric whole(three_classes());
  whole.add(learnt(logits, masks()));
  CHECK(names_of(whole.result()) == "mean_dice pixel_accuracy");
  SegmentationMetric first(three_classes());
  first.add(learnt(logits.slice(0, 0, 1), masks().slice(0, 0, 1)));
  SegmentationMetric second(three_classes());
  second.restore(first.state());
  second.add(learnt(logits.slice(0, 1, 4), masks().slice(0, 1, 4)));
  CHECK((second.result() == whole.result()));
}

TEST_CASE("binary segmentation of known maps has the Dice and IoU that were counted by hand") {
  const double iou[] = {.1875, .904761904761905, 1};
  const double dice[] = {.315789473684211, .95, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    BinarySegmentationMetric metric({.masks = {"disc"}});
    // p > .5 there; of maps in tenths that is p >= .5 just below.
    const at::Tensor p = map_logits(i) / 4 + .5 - 1e-4;
    metric.add(evaluated(p.to(at::kFloat), map_truth().squeeze(1)));
    const Figures figures = metric.result();
    CHECK(figure(figures, "dice_disc") == Approx(dice[i]).epsilon(1e-9));
    CHECK(figure(figures, "iou_disc") == Approx(iou[i]).epsilon(1e-9));
    CHECK(figure(figures, "mean_dice") == figure(figures, "dice_disc"));
  }
}

TEST_CASE("a mask's threshold is fitted on the validation and kept for the test") {
  const BinarySegmentationOptions options{
      .masks = {"lumen", "wall"}, .ignore = ignored, .fit_thresholds = true};
  const at::Tensor target = with_ignored(classes({2, 2, 6, 6}, 2, 50));
  const at::Tensor noise = values({2, 2, 6, 6}, 51).to(at::kFloat) / 60;
  const at::Tensor p = at::where(target == 1, .3F, .15F) + noise;  // apart at about .225
  BinarySegmentationMetric validation(options);
  validation.add(evaluated(p, target));
  const Figures figures = validation.result();
  CHECK(names_of(figures) ==
        "mean_dice mean_iou pixel_accuracy dice_lumen iou_lumen dice_wall iou_wall "
        "threshold_lumen threshold_wall");
  CHECK(figure(figures, "mean_dice") == 1.0);
  CHECK(figure(figures, "threshold_wall") == Approx(.225).epsilon(.1));

  BinarySegmentationMetric test(options, validation.fitted());
  const at::Tensor darker = p * .5;
  test.add(evaluated(darker, target));
  CHECK(figure(test.result(), "mean_dice") < .1);
  CHECK(figure(test.result(), "threshold_lumen") == figure(figures, "threshold_lumen"));
  CHECK(at::equal(decided_masks(p, validation.fitted()).masked_select(target != ignored),
                  (target == 1).masked_select(target != ignored)));
  CHECK_THROWS_AS(BinarySegmentationMetric({.masks = {"one"}}, validation.fitted()),
                  headrace::ConfigError);
}

TEST_CASE("binary segmentation that learns is counted at .5, and goes on after a stop") {
  const at::Tensor logits = values({4, 1, 5, 6}, 60);
  const at::Tensor target = with_ignored(classes({4, 5, 6}, 2, 61));
  const BinarySegmentationOptions options{.ignore = ignored, .fit_thresholds = true};
  BinarySegmentationMetric whole(options);
  whole.add(learnt(logits, target));
  CHECK(names_of(whole.result()) == "mean_dice pixel_accuracy");
  CHECK(whole.fitted().empty());
  const at::Tensor right = ((logits.squeeze(1) >= 0) == (target == 1)).masked_select(target != 255);
  CHECK(figure(whole.result(), "pixel_accuracy") ==
        Approx(right.to(at::kDouble).mean().item<double>()).epsilon(1e-12));
  BinarySegmentationMetric first(options);
  first.add(learnt(logits.slice(0, 0, 2), target.slice(0, 0, 2)));
  BinarySegmentationMetric second(options);
  second.restore(first.state());
  second.add(learnt(logits.slice(0, 2, 4), target.slice(0, 2, 4)));
  CHECK((second.result() == whole.result()));
}
