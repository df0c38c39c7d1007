#include <headrace/apps/jobs/retinopathy/config.h>
#include <headrace/apps/jobs/retinopathy/pair_course_torch.h>
#include <headrace/apps/jobs/retinopathy/pair_metric_torch.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/models/metrics/temperature.h>
#include <headrace/tests/apps/job_steps.h>

#include "../../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

namespace headrace {
using app::PairCourse;
using app::PairMetric;

namespace {

std::unique_ptr<PairCourse> course_of(const models::ClassPair& pair, bool sees_others = true) {
  auto config = std::make_shared<app::RetinopathyConfig>();
  config->task.image.decode.side = 8;
  app::PictureCourse::Parts parts{.config = config, .feed = {.task = config->task}};
  return std::make_unique<PairCourse>(
      std::move(parts), pair, std::vector<std::string>{"none", "mild", "severe"}, sees_others);
}

training::Example example_of(const PairCourse& course, bool training) {
  Loader loader =
      Pipeline::from(test::zero_rows(FieldSpec::fixed("image", DType::float32, {8, 8, 3}), 3))
          .batch({.size = 6})
          .build();
  Random random;
  const training::Stage stage;
  for (Batch& batch : loader.epoch(0))
    return course.example(batch, {.stage = stage, .training = training, .random = random});
  return {};
}

training::Cases cases_of(const std::vector<float>& second, const std::vector<float>& label) {
  const at::Tensor p = at::tensor(second).unsqueeze(1);
  return {.scores = at::cat({1.0 - p, p}, 1),
          .example = {.targets = {{"label", at::tensor(label).unsqueeze(1)}},
                      .present = at::tensor(label) >= 0.0}};
}

}  // namespace

TEST_CASE("a pair is told its second class from its first, and others do not count") {
  const training::Example example = example_of(*course_of({0, 2}), false);
  CHECK(at::equal(example.targets.at("label").flatten(),
                  at::tensor({0.F, -1.F, 1.F, 0.F, -1.F, 1.F})));
  CHECK(at::equal(example.targets.at("grade"), at::tensor({0, 1, 2, 0, 1, 2}, at::kLong)));
  CHECK(at::equal(example.present, at::tensor({1, 0, 1, 1, 0, 1}).to(at::kBool)));
  CHECK_FALSE(example.rows.has_value());
}

TEST_CASE("no device is asked which rows count where all are of the pair") {
  const training::Example example = example_of(*course_of({0, 2}), true);
  CHECK_FALSE(example.present.defined());
  CHECK_FALSE(example.targets.contains("grade"));
  CHECK_FALSE(example_of(*course_of({0, 2}, false), false).present.defined());
  CHECK(example_of(*course_of({0, 2}, false), false).targets.contains("grade"));
}

TEST_CASE("scores of a pair are the sigmoid of its one output and what is left of it") {
  const at::Tensor scores =
      course_of({1, 2})->scores({.main = at::tensor({0.F, 2.F}).unsqueeze(1)});
  CHECK(at::allclose(scores, at::tensor({.5F, .5F, .11920292F, .88079708F}).view({2, 2})));
}

TEST_CASE("a pair's matrix is of its own two classes") {
  CHECK(course_of({0, 2})->class_names() == std::vector<std::string>{"none", "severe"});
}

TEST_CASE("figures of a pair leave absent rows out, and its validation fits a temperature") {
  PairMetric metric(true);
  metric.add(cases_of({.9F, .8F, .3F}, {1, 0, -1}));
  metric.add(cases_of({.2F, .7F}, {0, 1}));
  const training::Figures figures = metric.result();
  CHECK(training::figure(figures, "accuracy") == .75);
  const double temperature = training::figure(figures, "temperature");
  const std::vector<double> logits{models::logit_of(.9), models::logit_of(.8), models::logit_of(.2),
                                   models::logit_of(.7)};
  CHECK(temperature ==
        doctest::Approx(models::fit_temperature(logits, std::vector<std::uint8_t>{1, 0, 0, 1}))
            .epsilon(1e-6));
  CHECK(metric.fitted().at(app::fitted_temperature).item<double>() == temperature);
  CHECK(metric.fitted().at(app::fitted_accuracy).item<double>() == .75);
}

TEST_CASE("a score that is no number fits no temperature and ends no run") {
  PairMetric metric(true);
  metric.add(cases_of({.9F, std::numeric_limits<float>::quiet_NaN()}, {1, 0}));
  CHECK(std::isnan(training::figure(metric.result(), "temperature")));
  CHECK_FALSE(metric.fitted().contains(app::fitted_temperature));
}

TEST_CASE("a test of a pair fits nothing") {
  PairMetric metric(false);
  metric.add(cases_of({.9F, .2F}, {1, 0}));
  CHECK(training::figure(metric.result(), "accuracy") == 1.0);
  CHECK(metric.fitted().empty());
}

TEST_CASE("while it learns a pair is right where the sign of its output is") {
  PairMetric metric(false);
  training::Cases cases = cases_of({.5F, .5F, .5F}, {1, 0, 1});
  cases.scores = at::Tensor();
  cases.output.main = at::tensor({3.F, 2.F, -1.F}).unsqueeze(1);
  metric.add(cases);
  CHECK(training::figure(metric.result(), "accuracy") == doctest::Approx(1.0 / 3));
}

}  // namespace headrace
