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
