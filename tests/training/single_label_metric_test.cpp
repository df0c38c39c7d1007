#include <headrace/engine/base/error.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/reference/loss_values.h>
#include <headrace/tests/training/figure_cases.h>
#include <headrace/training/metrics/label_metrics.h>

#include "../support/torch_doctest.h"

#include <cmath>

using namespace headrace::test;
using namespace headrace::training;
using doctest::Approx;

namespace {

at::Tensor seven_scores() {
  return values({60, 7}, 16).to(at::kFloat);
}

at::Tensor seven_classes() {
  return classes({60}, 7, 15);
}

// Class 1 where the score is above .3: a threshold of .5 misses half of it.
const at::Tensor p1 = at::tensor({.1F, .2F, .25F, .35F, .4F, .45F, .6F, .9F});
const at::Tensor binary_truth = at::tensor({0, 0, 0, 1, 1, 1, 1, 1}, at::kLong);

at::Tensor two_scores() {
  return at::stack({1 - p1, p1}, 1);
}

SingleLabelOptions fitting() {
  return {.classes = 2, .fit_threshold = true};
}

}  // namespace

TEST_CASE("figures of one label a row are scikit-learn's, however the rows are divided") {
  for (const std::int64_t batch : {60, 7}) {
    SingleLabelMetric metric({.classes = 7, .ordinal = true});
    for (std::int64_t i = 0; i < 60; i += batch)
      metric.add(
          evaluated(seven_scores().slice(0, i, i + batch), seven_classes().slice(0, i, i + batch)));
    const Figures figures = metric.result();
    CHECK(names_of(figures) == "accuracy top5 balanced_accuracy macro_f1 weighted_f1 qwk auc");
    CHECK(figure(figures, "auc") == Approx(reference::class_auc).epsilon(1e-12));
    CHECK(figure(figures, "top5") == Approx(reference::class_top5).epsilon(1e-12));
    CHECK(figure(figures, "weighted_f1") == headrace::models::weighted_f1(*metric.confusion()));
    CHECK(metric.confusion()->total() == 60);
    CHECK(metric.fitted().empty());
  }
}

TEST_CASE("absent rows are in no figure, whatever they hold") {
  SingleLabelMetric plain({.classes = 7});
  plain.add(evaluated(seven_scores().slice(0, 0, 40), seven_classes().slice(0, 0, 40)));
  SingleLabelMetric padded({.classes = 7});
  at::Tensor target = seven_classes();
  target.slice(0, 40, 60).fill_(-1);
  padded.add(evaluated(seven_scores(), target, at::arange(60) < 40));
  CHECK((padded.result() == plain.result()));
}

TEST_CASE("while a network learns there is the accuracy, also over a stop") {
  const at::Tensor logits = values({20, 3}, 5).to(at::kBFloat16);
  const at::Tensor target = classes({20}, 3, 6);
  SingleLabelMetric whole({.classes = 3});
  whole.add(learnt(logits, target));
  CHECK(names_of(whole.result()) == "accuracy");
  SingleLabelMetric first({.classes = 3});
  first.add(learnt(logits.slice(0, 0, 8), target.slice(0, 0, 8)));
  SingleLabelMetric second({.classes = 3});
  second.restore(first.state());
  second.add(learnt(logits.slice(0, 8, 20), target.slice(0, 8, 20)));
  CHECK((second.result() == whole.result()));
  CHECK(figure(whole.result(), "accuracy") ==
        (logits.argmax(1) == target).to(at::kDouble).mean().item<double>());
}

TEST_CASE("a threshold is chosen on the validation, decides there, and is kept for the test") {
  SingleLabelMetric validation(fitting());
  validation.add(evaluated(two_scores(), binary_truth));
  const Figures fitted = validation.result();
  CHECK(names_of(fitted) == "accuracy balanced_accuracy macro_f1 weighted_f1 auc threshold");
  CHECK(figure(fitted, "threshold") == Approx(.3));
  CHECK(figure(fitted, "accuracy") == 1.0);

  // .28 and .32: apart by the threshold of the validation, and neither by .5 nor by the best.
  SingleLabelMetric test(fitting(), validation.fitted());
  const at::Tensor scores = at::tensor({.72F, .28F, .68F, .32F}).view({2, 2});
  test.add(evaluated(scores, at::tensor({1, 0}, at::kLong)));
  const Figures figures = test.result();
  CHECK(figure(figures, "threshold") == figure(fitted, "threshold"));
  CHECK(figure(figures, "accuracy") == 0.0);
  CHECK(test.confusion()->at(0, 1) == 1);
  CHECK(at::equal(decided_classes(scores, validation.fitted()), at::tensor({0, 1}, at::kLong)));
  CHECK(at::equal(decided_classes(scores, {}), at::tensor({0, 0}, at::kLong)));
}

TEST_CASE("a metric that goes on after its result chooses again") {
  SingleLabelMetric metric(fitting());
  metric.add(evaluated(two_scores(), binary_truth));
  const double first = figure(metric.result(), "threshold");
  metric.add(evaluated(two_scores() * .5, binary_truth));
  SingleLabelMetric both(fitting());
  both.add(evaluated(two_scores(), binary_truth));
  both.add(evaluated(two_scores() * .5, binary_truth));
  CHECK((metric.result() == both.result()));
  CHECK(figure(metric.result(), "threshold") != first);
}

TEST_CASE("what a metric of rows keeps is its own and not the batch's") {
  SingleLabelMetric metric({.classes = 7});
  at::Tensor scores = seven_scores();
  at::Tensor target = seven_classes();
  metric.add(evaluated(scores, target));
  scores.zero_();
  target.zero_();
  CHECK(figure(metric.result(), "auc") == Approx(reference::class_auc).epsilon(1e-12));
}

TEST_CASE("classes that make no sense are refused, and an area of one class is not a number") {
  CHECK_THROWS_AS(SingleLabelMetric({.classes = 1}), headrace::ConfigError);
  CHECK_THROWS_AS(SingleLabelMetric({.classes = 3, .fit_threshold = true}), headrace::ConfigError);
  SingleLabelMetric metric({.classes = 2});
  metric.add(evaluated(two_scores(), at::zeros({8}, at::kLong)));
  CHECK(std::isnan(figure(metric.result(), "auc")));
  metric.add(evaluated(two_scores(), at::full({8}, 2, at::kLong)));
  CHECK_THROWS_AS(metric.result(), headrace::DataError);
}
