// Metrics that find no memory for some cases have counted none of them: they are given again.
#include <headrace/training/metrics/kept_rows.h>
#include <headrace/training/metrics/label_metrics.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include "../support/torch_doctest.h"
#include "figure_cases.h"
#include "refusal.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using headrace::test::evaluated;
using headrace::test::learnt;
using headrace::test::nth;
using headrace::test::Refusal;
using headrace::test::tensors_made_by;

namespace {

struct MetricCase {
  std::string name;
  std::function<std::unique_ptr<Metric>()> make;
  std::vector<Cases> cases;  // shown one behind the other
};

at::Tensor labels(std::int64_t rows, std::int64_t classes) {
  return at::arange(rows, at::kLong).remainder(classes);
}

std::vector<MetricCase> metric_cases() {
  at::manual_seed(9);
  const at::Tensor there = at::tensor({1, 1, 0, 1, 1, 1}, at::kByte).to(at::kBool);
  const at::Tensor masks = at::randint(2, {6, 2, 4, 4}, at::kLong);
  const at::Tensor pixels = at::randint(3, {6, 4, 4}, at::kLong);
  const at::Tensor many = at::rand({6, 7}).softmax(1);
  const at::Tensor two = at::rand({6, 2}).softmax(1);
  const at::Tensor several = at::rand({6, 3});
  const at::Tensor several_labels = at::randint(2, {6, 3}, at::kLong).to(at::kFloat);
  return {
      {"classification",
       [] { return std::make_unique<ClassificationMetric>(7); },
       {evaluated(many, labels(6, 7), there), evaluated(many.flip(0), labels(6, 7))}},
      {"single label of many classes",
       [] {
         return std::make_unique<SingleLabelMetric>(SingleLabelOptions{.classes = 7, .areas = true},
                                                    TensorMap{});
       },
       {evaluated(many, labels(6, 7), there), evaluated(many.flip(0), labels(6, 7))}},
      {"single label with a threshold",
       [] {
         return std::make_unique<SingleLabelMetric>(
             SingleLabelOptions{.classes = 2, .areas = true, .fit_threshold = true}, TensorMap{});
       },
       {evaluated(two, labels(6, 2)), evaluated(two.flip(0), labels(6, 2))}},
      {"single label of the training",
       [] {
         return std::make_unique<SingleLabelMetric>(SingleLabelOptions{.classes = 2}, TensorMap{});
       },
       {learnt(two, labels(6, 2)), learnt(two.flip(0), labels(6, 2))}},
      {"several labels",
       [] {
         return std::make_unique<MultiLabelMetric>(MultiLabelOptions{.labels = 3}, TensorMap{});
       },
       {evaluated(several, several_labels), evaluated(several.flip(0), several_labels)}},
      {"pixels of classes",
       [] {
         return std::make_unique<SegmentationMetric>(
             SegmentationOptions{.classes = {"ground", "a", "b"}});
       },
       {evaluated(at::rand({6, 3, 4, 4}), pixels)}},
      {"pixels of masks",
       [] {
         return std::make_unique<BinarySegmentationMetric>(
             BinarySegmentationOptions{.masks = {"a", "b"}, .fit_thresholds = true}, TensorMap{});
       },
       {evaluated(at::rand({6, 2, 4, 4}), masks.to(at::kFloat))}}};
}

// The figures of all cases, where the n-th tensor for one of them is refused before it comes again;
// n of 0: none is.
Figures figures_of(const MetricCase& one, std::size_t refused, std::int64_t n) {
  const std::unique_ptr<Metric> metric = one.make();
  for (std::size_t i = 0; i < one.cases.size(); ++i) {
    if (n > 0 && i == refused) {
      const Refusal refusal(nth(n));
      CHECK_THROWS_AS(metric->add(one.cases[i]), c10::OutOfMemoryError);
    }
    metric->add(one.cases[i]);
  }
  return metric->result();
}

// Tensors that a metric makes for one of the cases.
std::int64_t tensors_for(const MetricCase& one, std::size_t number) {
  const std::unique_ptr<Metric> metric = one.make();
  for (std::size_t i = 0; i < number; ++i)
    metric->add(one.cases[i]);
  return tensors_made_by([&] { metric->add(one.cases[number]); });
}

}  // namespace

TEST_CASE("cases that found no memory in a metric are counted once when they come again") {
  for (const MetricCase& one : metric_cases()) {
    CAPTURE(one.name);
    const Figures expected = figures_of(one, 0, 0);
    for (std::size_t refused = 0; refused < one.cases.size(); ++refused) {
      CAPTURE(refused);
      const std::int64_t count = tensors_for(one, refused);
      CHECK(count > 0);
      for (std::int64_t n = 1; n <= count; ++n) {
        CAPTURE(n);
        CHECK((figures_of(one, refused, n) == expected));
      }
    }
  }
}
