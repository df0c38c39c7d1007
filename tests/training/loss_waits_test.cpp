// Neither losses nor what metrics gather wait for the device: on `meta` whatever reads a value
// throws, and copies from the host are listed.
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/models/losses/region_loss.h>
#include <headrace/tests/apps/meta_device.h>
#include <headrace/tests/training/figure_cases.h>
#include <headrace/training/loss_terms.h>
#include <headrace/training/metrics/label_metrics.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include "../support/torch_doctest.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;
using namespace headrace::training;

namespace {

at::Tensor on_meta(at::IntArrayRef shape, at::ScalarType type) {
  return at::empty(shape, at::TensorOptions(type).device(at::kMeta));
}

using MeanOf = std::function<MeanLoss(const at::Tensor& logits)>;

std::vector<std::pair<const char*, MeanOf>> losses() {
  const at::Tensor indices = on_meta({2, 8, 8}, at::kLong);
  const at::Tensor bytes = on_meta({2, 8, 8}, at::kByte);
  const at::Tensor masks = on_meta({2, 3, 8, 8}, at::kFloat);
  const at::Tensor rows = on_meta({2}, at::kFloat);
  const at::Tensor weights = on_meta({3}, at::kFloat);
  const ClassificationWeights all{.of_classes = weights, .of_samples = rows, .ignore = 255};
  return {
      {"plain", [=](auto& z) { return mean_cross_entropy(z, indices); }},
      {"smoothed, weighted, focal",
       [=](auto& z) {
         return mean_cross_entropy(z, bytes, {.label_smoothing = .1, .weights = all, .gamma = 2.0});
       }},
      {"binary", [=](auto& z) { return mean_binary_cross_entropy(z, masks); }},
      {"binary, weighted, focal",
       [=](auto& z) {
         return mean_binary_cross_entropy(
             z, masks,
             {.positive_weights = weights, .of_samples = rows, .gamma = .5, .ignore = 255});
       }},
      {"Dice", [=](auto& z) { return soft_dice_loss(z, indices); }},
      {"Dice of the batch",
       [=](auto& z) {
         return soft_dice_loss(
             z, bytes, {.batch = true, .background = false, .ignore = 255, .of_samples = rows});
       }},
      {"IoU of regions",
       [=](auto& z) {
         return soft_iou_loss(z, masks, {.sigmoid = true, .ignore = 255, .of_samples = rows});
       }},
  };
}

}  // namespace

TEST_CASE("no loss over pixels reads a value or copies one to the device") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const auto& [name, loss] : losses()) {
      CAPTURE(name);
      const HostCopies copies;
      const at::Tensor logits = on_meta({2, 3, 8, 8}, type).set_requires_grad(true);
      const MeanLoss mean = loss(logits);
      CHECK((mean.value.scalar_type() == at::kFloat));
      CHECK(mean.value.dim() == 0);
      CHECK(mean.weight.dim() == 0);
      CHECK(mean.weight.is_meta());
      CHECK_FALSE(mean.weight.requires_grad());
      mean.value.backward();
      CHECK((logits.grad().scalar_type() == type));
      CHECK(copies.found().empty());
    }
  }
}

TEST_CASE("no metric reads a value or copies one to the device before its result") {
  const at::Tensor present = on_meta({2}, at::kBool);
  const auto see = [&](Metric& metric, const at::Tensor& values, const at::Tensor& target) {
    for (int i = 0; i < 2; ++i) {
      metric.add(learnt(values, target, present));
      metric.add(evaluated(values, target, present));
    }
  };
  const HostCopies copies;
  SingleLabelMetric single({.classes = 7});
  see(single, on_meta({2, 7}, at::kFloat), on_meta({2}, at::kLong));
  MultiLabelMetric multi({.labels = 4, .fit_thresholds = true});
  see(multi, on_meta({2, 4}, at::kFloat), on_meta({2, 4}, at::kFloat));
  SegmentationMetric pixels({.classes = {"a", "b", "c"}, .ignore = 255});
  see(pixels, on_meta({2, 3, 8, 8}, at::kFloat), on_meta({2, 8, 8}, at::kByte));
  BinarySegmentationMetric masks({.ignore = 255, .fit_thresholds = true});
  see(masks, on_meta({2, 1, 8, 8}, at::kFloat), on_meta({2, 8, 8}, at::kByte));
  CHECK(copies.found().empty());
}

TEST_CASE("the terms of a step wait for nothing, whether they have weights or not") {
  const at::Tensor value = on_meta({}, at::kFloat);
  const HostCopies copies;
  LossMeans window;
  LossMeans epoch;
  for (int i = 0; i < 2; ++i)
    window.add({{.name = "a", .value = value}, {.name = "b", .value = value, .weight = value}},
               {.rows = 4});
  epoch.add(window);
  REQUIRE(epoch.terms().size() == 2);
  CHECK(epoch.terms().back().tensor.is_meta());
  CHECK(copies.found().empty());
}
