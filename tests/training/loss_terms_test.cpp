#include "pattern_recipe.h"

using namespace headrace::training;
using doctest::Approx;

TEST_CASE("a class-weighted validation loss does not depend on the batch size") {
  const auto network = make_network<StatefulModule>(4);
  const PatternCourse course(std::vector<Stage>(1), {});
  std::vector<Evaluation> found;
  for (const std::int64_t batch : {1, 3, 20}) {
    auto loader = headrace::Pipeline::from(PatternSource(20)).batch({.size = batch}).build();
    found.push_back(*evaluate(course, *network, loader));
  }
  for (const Evaluation& evaluation : found) {
    CHECK(evaluation["loss_classes"] == Approx(found[0]["loss_classes"]).epsilon(1e-6));
    CHECK(evaluation["loss_size"] == Approx(found[0]["loss_size"]).epsilon(1e-6));
    CHECK(evaluation["loss"] ==
          Approx(evaluation["loss_classes"] + .01 * evaluation["loss_size"]).epsilon(1e-9));
  }
}

TEST_CASE("the mean of a loss whose factor changes is that of what was minimised") {
  LossMeans means;
  const auto batch = [](double value, double factor) {
    return std::vector<Term>{{.value = at::scalar_tensor(value), .factor = factor}};
  };
  const Example three{.rows = 3};
  const Example one{.rows = 1};
  means.add(batch(2.0, 0.5), three);
  means.add(batch(4.0, 1.0), one);
  CHECK(figure(means.figures(), "loss") == Approx((3 * 1.0 + 4.0) / 4).epsilon(1e-12));
  LossMeans resumed;
  resumed.restore(means.state());
  resumed.add(batch(1.0, 1.0), one);
  means.add(batch(1.0, 1.0), one);
  CHECK((resumed.figures() == means.figures()));
}

TEST_CASE("batches that weigh nothing have a loss of zero and change no mean") {
  const Example nothing{.weight = at::scalar_tensor(0.0F), .rows = 4};
  const Example two{.weight = at::scalar_tensor(2.0F), .rows = 4};
  const auto loss = [](double value) {
    return std::vector<Term>{{.value = at::scalar_tensor(value)}};
  };
  LossMeans means;
  means.add(loss(0.0), nothing);
  CHECK(figure(means.figures(), "loss") == 0.0);
  means.add(loss(3.0), two);
  means.add(loss(std::numeric_limits<double>::quiet_NaN()), nothing);  // 0 / 0
  CHECK(figure(means.figures(), "loss") == 3.0);
}

TEST_CASE("means of means are those of all batches, and terms are named as figures are") {
  const auto batch = [](double first, double second) {
    return std::vector<Term>{{.name = "a", .value = at::scalar_tensor(first)},
                             {.name = "b", .value = at::scalar_tensor(second), .factor = 2.0}};
  };
  LossMeans all;
  LossMeans sum;
  CHECK(all.terms().empty());
  for (const std::int64_t rows : {3, 1, 4}) {
    const Example example{.rows = rows};
    const auto terms = batch(static_cast<double>(rows), 0.5 * static_cast<double>(rows));
    all.add(terms, example);
    LossMeans one;
    one.add(terms, example);
    sum.add(one);
  }
  sum.add(LossMeans());
  CHECK((sum.figures() == all.figures()));
  CHECK(sum.rows() == 8);
  const auto terms = sum.terms();
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].name == "loss_a");
  CHECK(terms[0].tensor.item<double>() == Approx(26.0 / 8.0).epsilon(1e-12));
  CHECK(terms[1].tensor.item<double>() == figure(sum.figures(), "loss_b"));
  LossMeans other;
  other.add({{.name = "a", .value = at::scalar_tensor(1.0)}}, {.rows = 1});
  CHECK(other.terms().empty());
  CHECK_THROWS_AS(sum.add(other), headrace::ConfigError);
}

TEST_CASE("each step tells of its terms, and an epoch's are their means over all micro-batches") {
  const TemporaryFolder folder;
  const PatternRecipe recipe(two_stages());
  std::vector<StepReport> steps;
  std::vector<double> ratios;
  MemberCallbacks callbacks;
  callbacks.trainer.on_step = [&](const StepReport& step) { steps.push_back(step); };
  callbacks.trainer.on_epoch = [&](const EpochReport& epoch) {
    double sum = 0.0;
    for (const StepReport& step : steps) {
      REQUIRE(step.terms.size() == 2);
      CHECK(step.terms[0].first == "loss_classes");
      CHECK(step.terms[1].first == "loss_size");
      sum += figure(step.terms, "loss_size") * static_cast<double>(step.samples);
      if (step.samples == 8)  // a step of one micro-batch
        CHECK(*step.loss ==
              Approx(figure(step.terms, "loss_classes") + .01 * figure(step.terms, "loss_size"))
                  .epsilon(1e-6));
    }
    ratios.push_back(sum / 50.0 / figure(epoch.train, "loss_size"));
    steps.clear();
  };
  train_member(recipe, recipe.members().front(), in(folder), callbacks);
  REQUIRE(ratios.size() == 4);
  for (const double ratio : ratios)
    CHECK(ratio == Approx(1.0).epsilon(1e-12));
}
