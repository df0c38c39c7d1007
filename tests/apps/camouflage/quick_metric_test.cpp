#include <headrace/apps/jobs/camouflage/measures_torch.h>

#include "../../support/torch_doctest.h"

#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

namespace headrace {
using app::QuickMaskMetric;
using doctest::Approx;
using training::figure;

namespace {

struct Maps {
  at::Tensor scores;
  at::Tensor mask;
};

Maps maps(std::int64_t rows) {
  at::manual_seed(8);
  const at::Tensor scores = at::rand({rows, 1, 6, 7});
  return {.scores = scores, .mask = (at::rand({rows, 1, 6, 7}) > 0.6).to(at::kFloat)};
}

training::Cases cases_of(const Maps& maps, std::int64_t first, std::int64_t last) {
  training::Cases some{.scores = maps.scores.slice(0, first, last)};
  some.example.targets.emplace("mask", maps.mask.slice(0, first, last));
  return some;
}

struct ByHand {
  double iou = 0.0;
  double dice = 0.0;
  double mae = 0.0;
};

ByHand by_hand(const Maps& maps) {
  ByHand sum;
  const auto rows = maps.scores.size(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const at::Tensor scores = maps.scores[row].flatten();
    const at::Tensor mask = maps.mask[row].flatten();
    const double least = scores.min().item<double>();
    const double largest = scores.max().item<double>();
    int both = 0;
    int found = 0;
    int there = 0;
    double error = 0.0;
    for (std::int64_t i = 0; i < scores.numel(); ++i) {
      const auto p = scores[i].item<double>();
      const bool is_object = mask[i].item<double>() > 0.5;
      found += p >= 0.5 ? 1 : 0;
      there += is_object ? 1 : 0;
      both += p >= 0.5 && is_object ? 1 : 0;
      error += std::abs((p - least) / (largest - least) - (is_object ? 1.0 : 0.0));
    }
    const auto count = static_cast<double>(rows);
    sum.iou += both / static_cast<double>(found + there - both) / count;
    sum.dice += 2.0 * both / (found + there) / count;
    sum.mae += error / static_cast<double>(scores.numel()) / count;
  }
  return sum;
}

}  // namespace

TEST_CASE("figures are means over pictures, whatever the batches, and absent rows count nowhere") {
  const Maps all = maps(5);
  const ByHand wanted = by_hand(all);
  QuickMaskMetric metric(0.5);
  metric.add(cases_of(all, 0, 2));
  training::Cases padded = cases_of(all, 1, 5);
  padded.example.present = at::arange(4) != 0;
  metric.add(padded);
  const training::Figures got = metric.result();
  CHECK(figure(got, "iou") == Approx(wanted.iou));
  CHECK(figure(got, "dice") == Approx(wanted.dice));
  CHECK(figure(got, "mae") == Approx(wanted.mae));
  CHECK(std::isnan(figure(got, "expert_entropy")));
}

TEST_CASE("a metric that goes on from its state comes to the same figures") {
  const Maps all = maps(4);
  QuickMaskMetric whole(0.5);
  whole.add(cases_of(all, 0, 4));
  QuickMaskMetric first(0.5);
  first.add(cases_of(all, 0, 3));
  QuickMaskMetric second(0.5);
  second.restore(first.state());
  second.add(cases_of(all, 3, 4));
  CHECK(figure(second.result(), "iou") == Approx(figure(whole.result(), "iou")));
  CHECK(figure(first.result(), "iou") != figure(whole.result(), "iou"));
}

TEST_CASE("experts of the least even level say how evenly they are used") {
  const Maps all = maps(2);
  QuickMaskMetric metric(0.5);
  training::Cases learning{.example = cases_of(all, 0, 2).example};
  learning.output.main = all.scores;
  learning.output.extra["expert_load"] =
      at::tensor({2.0F, 2.0F, 2.0F, 2.0F, 0.0F, 4.0F, 0.0F, 4.0F}).view({2, 4});
  metric.add(learning);
  CHECK(figure(metric.result(), "expert_entropy") == Approx(0.5));
  learning.output.extra["expert_load"] = at::tensor({8.0F, 0.0F, 0.0F, 0.0F}).view({1, 4});
  QuickMaskMetric collapsed(0.5);
  collapsed.add(learning);
  CHECK(figure(collapsed.result(), "expert_entropy") == Approx(0.0));
}

}  // namespace headrace
