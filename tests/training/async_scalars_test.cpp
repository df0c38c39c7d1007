#include <headrace/training/errors.h>
#include <headrace/training/trainer/async_scalars.h>
#include <headrace/training/trainer/detail/step_reports.h>

#include "../support/torch_doctest.h"

#include <limits>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using doctest::Approx;
using headrace::training::detail::ExposedCopy;
using headrace::training::detail::StepReports;

namespace {

// Values on their way: they arrive when the test says so, or when they are waited for.
struct OnTheWay {
  bool there = false;
  int waited = 0;

  AsyncScalars::Arrived arrived() {
    return [this](bool wait) {
      if (wait) {
        there = true;
        ++waited;
      }
      return there;
    };
  }
};

at::Tensor values_on_cpu(std::vector<double> numbers) {
  return at::tensor(numbers, at::kDouble);
}

StepReport step(std::int64_t number) {
  return {.step = number, .samples = 2};
}

}  // namespace

TEST_CASE("scalars of the CPU are there at once, in order and as doubles") {
  AsyncScalars scalars;
  scalars.push({at::tensor(1.5F).squeeze(), at::tensor(2.0).squeeze()});
  scalars.push({at::tensor(3).squeeze()});
  CHECK((scalars.pop(false) == std::vector<double>{1.5, 2.0}));
  CHECK((scalars.pop(false) == std::vector<double>{3.0}));
  CHECK_FALSE(scalars.pop(true).has_value());
}

TEST_CASE("scalars are given as they were when they were asked for") {
  AsyncScalars scalars;
  at::Tensor sum = at::zeros({}, at::kDouble);
  scalars.push({sum});
  sum += 5;
  CHECK((scalars.pop(true) == std::vector<double>{0.0}));
}

TEST_CASE("scalars that have not arrived hold back those behind them, unless they are waited for") {
  AsyncScalars scalars;
  OnTheWay first;
  OnTheWay second{.there = true};
  scalars.push(values_on_cpu({1}), first.arrived());
  scalars.push(values_on_cpu({2}), second.arrived());
  CHECK_FALSE(scalars.pop(false).has_value());
  CHECK(scalars.size() == 2);
  CHECK((scalars.pop(true) == std::vector<double>{1}));
  CHECK(first.waited == 1);
  CHECK((scalars.pop(false) == std::vector<double>{2}));
}

TEST_CASE("each step is told of once, in order, with the loss that was read behind it") {
  std::vector<StepReport> told;
  StepReports reports([&](const StepReport& report) { told.push_back(report); });
  OnTheWay second;
  OnTheWay fourth;
  reports.add(step(1), {});
  reports.add(step(2));
  reports.scalars().push(values_on_cpu({3.0, 7.0}), second.arrived());
  reports.add(step(3), {});
  reports.tell_arrived(0);
  REQUIRE(told.size() == 1);
  CHECK_FALSE(told[0].loss.has_value());

  reports.add(step(4));
  reports.scalars().push(values_on_cpu({1.0}), fourth.arrived());
  second.there = true;
  reports.tell_arrived(0);
  REQUIRE(told.size() == 3);
  CHECK(told[1].step == 2);
  CHECK(told[1].loss == 3.0);
  CHECK(told[1].gradient_norm == 7.0);
  CHECK_FALSE(told[2].loss.has_value());
  CHECK(second.waited == 0);

  reports.tell_all();
  REQUIRE(told.size() == 4);
  CHECK(told[3].loss == 1.0);
  CHECK_FALSE(told[3].gradient_norm.has_value());
  CHECK(fourth.waited == 1);
}

TEST_CASE("a step's terms come with its loss, each under its name") {
  std::vector<StepReport> told;
  StepReports reports([&](const StepReport& report) { told.push_back(report); });
  OnTheWay first;
  StepReport late = step(1);
  late.terms = {{"loss_dice", 0.0}, {"loss_bce", 0.0}};
  reports.add(late);
  reports.scalars().push(values_on_cpu({3.0, 1.0, 2.0, 7.0}), first.arrived());
  const auto scalar = [](double value) { return at::scalar_tensor(value, at::kDouble); };
  reports.add(step(2), {.loss = scalar(5.0),
                        .terms = {{"loss_dice", scalar(4.0)}, {"loss_bce", scalar(1.0)}}});
  reports.tell_all();
  REQUIRE(told.size() == 2);
  CHECK(told[0].loss == 3.0);
  CHECK((told[0].terms == Figures{{"loss_dice", 1.0}, {"loss_bce", 2.0}}));
  CHECK(told[0].gradient_norm == 7.0);
  CHECK((told[1].terms == Figures{{"loss_dice", 4.0}, {"loss_bce", 1.0}}));
  CHECK_FALSE(told[1].gradient_norm.has_value());
}

TEST_CASE("the newest steps may be kept back, and can be changed until they are told of") {
  std::vector<StepReport> told;
  StepReports reports([&](const StepReport& report) { told.push_back(report); });
  reports.add(step(1), {});
  reports.add(step(2), {});
  reports.tell_arrived(1);
  REQUIRE(told.size() == 1);
  REQUIRE(reports.newest() != nullptr);
  reports.newest()->times.copy_s = 3.0;
  reports.tell_all();
  CHECK(reports.newest() == nullptr);
  CHECK(told[1].times.copy_s == 3.0);
}

TEST_CASE("exposed copy moves from compute once, whole, however late it is known") {
  ExposedCopy exposed(5.0);  // of another trainer
  std::vector<StepTimes> steps(4, StepTimes{.wall_s = 1.0, .compute_s = 1.0});
  exposed.move(steps[0]);
  CHECK(steps[0].copy_s == 0.0);
  exposed.see(6.5);
  exposed.move(steps[1]);
  exposed.move(steps[2]);
  exposed.see(6.5);
  exposed.move(steps[3]);
  CHECK(steps[1].copy_s == 1.0);
  CHECK(steps[1].compute_s == 0.0);
  CHECK(steps[2].copy_s == Approx(.5));
  CHECK(steps[2].compute_s == Approx(.5));
  CHECK(steps[3].copy_s == 0.0);
  for (const StepTimes& times : steps)
    CHECK(times.wall_s == Approx(1.0));
}
