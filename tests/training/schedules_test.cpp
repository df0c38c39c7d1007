#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/schedules.h>
#include <headrace/training/trainer/early_stopping.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace headrace::training;
using doctest::Approx;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("one cycle gives the values computed by hand") {
  const OneCycleOptions options{.max = 6e-4, .total = 1000, .pct = .2, .div = 10, .final_div = 1e4};
  CHECK(one_cycle(options, 0) == Approx(6e-5).epsilon(1e-9));
  CHECK(one_cycle(options, 50) == Approx(1.398361581e-4).epsilon(1e-9));
  CHECK(one_cycle(options, 100) == Approx(3.321312091e-4).epsilon(1e-9));
  CHECK(one_cycle(options, 199) == Approx(6e-4).epsilon(1e-9));
  CHECK(one_cycle(options, 200) == Approx(5.999976868e-4).epsilon(1e-9));
  CHECK(one_cycle(options, 500) == Approx(4.137175902e-4).epsilon(1e-9));
  CHECK(one_cycle(options, 999) == Approx(6e-9).epsilon(1e-9));
  CHECK_THROWS_WITH_AS(one_cycle(options, 1000), "[one_cycle] step must lie in [0, 999], got 1000",
                       headrace::ConfigError);
}

TEST_CASE("the polynomial schedule gives the values computed by hand") {
  CHECK(polynomial(.01, 1000, 250) == Approx(.007718895067).epsilon(1e-9));
  CHECK(polynomial(.01, 1000, 500) == Approx(.005358867313).epsilon(1e-9));
  CHECK(polynomial(.01, 1000, 999) == Approx(1.995262315e-5).epsilon(1e-9));
  CHECK_THROWS_AS(polynomial(.01, 1000, 1001), headrace::ConfigError);
}

TEST_CASE("warm-up rises in a line and the cosine falls to the lowest rate") {
  const WarmupCosineOptions cosine{.base = 1e-3, .lowest = 1e-6, .total = 200};
  CHECK(warmup_cosine(cosine, 0) == Approx(1e-3));
  CHECK(warmup_cosine(cosine, 50) == Approx(8.536998372e-4).epsilon(1e-9));
  CHECK(warmup_cosine(cosine, 100) == Approx(5.005e-4).epsilon(1e-9));
  CHECK(warmup_cosine(cosine, 200) == 1e-6);
  CHECK(warmup_cosine(cosine, 900) == 1e-6);

  const WarmupCosineOptions warm{.base = 1.0, .warmup = 10, .warmup_start = .1, .total = 110};
  CHECK(warmup_cosine(warm, 0) == Approx(.1));
  CHECK(warmup_cosine(warm, 5) == Approx(.55));
  CHECK(warmup_cosine(warm, 10) == Approx(1.0));
  CHECK(warmup_cosine(warm, 60) == Approx(.5));
  CHECK_THROWS_AS(warmup_cosine({.warmup = 5, .total = 4}, 0), headrace::ConfigError);
}

TEST_CASE("the plateau schedule reduces when more than patience evaluations were bad") {
  const PlateauOptions options{.factor = .5, .patience = 2};
  PlateauState state;
  for (const double loss : {1.0, 0.9, 0.95, 0.95})
    state = plateau_after(options, state, loss);
  CHECK(state.reductions == 0);
  CHECK(state.bad == 2);
  state = plateau_after(options, state, 0.91);
  CHECK(plateau_rate(options, 1e-3, state.reductions) == 5e-4);
  CHECK(state.bad == 0);
  CHECK(*state.best == 0.9);
}

TEST_CASE("the plateau threshold is relative to the best metric") {
  PlateauState state = plateau_after({}, PlateauState{}, 1.0);
  state = plateau_after({}, state, 0.99991);
  CHECK(state.bad == 1);
  state = plateau_after({}, state, 0.99989);
  CHECK(state.bad == 0);

  const PlateauOptions up{.goal = Goal::maximum};
  state = plateau_after(up, {}, 0.5);
  state = plateau_after(up, state, 0.50004);
  CHECK(state.bad == 1);
  state = plateau_after(up, state, 0.50006);
  CHECK(state.bad == 0);
}

TEST_CASE("the plateau schedule waits after a reduction and keeps above the lowest rate") {
  const PlateauOptions options{.factor = .1, .patience = 0, .cooldown = 2, .lowest = 5e-5};
  PlateauState state = plateau_after(options, {}, 1.0);
  std::vector<double> rates;
  for (int i = 0; i < 7; ++i) {
    state = plateau_after(options, state, not_a_number);
    rates.push_back(plateau_rate(options, 1e-3, state.reductions));
  }
  CHECK(rates[0] == Approx(1e-4));
  CHECK(rates[1] == Approx(1e-4));
  CHECK(rates[2] == Approx(1e-4));
  CHECK(rates[3] == 5e-5);
  CHECK(rates[6] == 5e-5);
}

TEST_CASE("a metric that is good enough ends the run, whatever the patience") {
  const EarlyStoppingOptions rising{.patience = 0, .enough = .9};
  EarlyStoppingVerdict verdict = early_stopping_after(rising, {}, .89);
  CHECK_FALSE(verdict.stop);
  verdict = early_stopping_after(rising, verdict.state, .9);
  CHECK(verdict.stop);
  CHECK(stops_early(rising, verdict.state));
  const EarlyStoppingOptions falling{.goal = Goal::minimum, .patience = 0, .enough = .1};
  CHECK_FALSE(early_stopping_after(falling, {}, .2).stop);
  CHECK(early_stopping_after(falling, {}, .05).stop);
  CHECK_FALSE(stops_early({.patience = 0, .enough = .9}, {}));
}

TEST_CASE("early stopping counts evaluations without a better metric") {
  const EarlyStoppingOptions options{.patience = 2, .min_delta = .01};
  EarlyStoppingVerdict verdict = early_stopping_after(options, {}, .5);
  CHECK(verdict.improved);
  // Better by less than min_delta: the weights are the best, and patience goes on.
  verdict = early_stopping_after(options, verdict.state, .505);
  CHECK(verdict.improved);
  CHECK(*verdict.state.best == .505);
  CHECK(verdict.state.bad == 1);
  CHECK_FALSE(verdict.stop);
  verdict = early_stopping_after(options, verdict.state, .52);
  CHECK(verdict.improved);
  verdict = early_stopping_after(options, verdict.state, not_a_number);
  CHECK_FALSE(verdict.stop);
  verdict = early_stopping_after(options, verdict.state, .1);
  CHECK(verdict.stop);
  CHECK(*verdict.state.best == .52);
}

TEST_CASE("what is no number or infinitely bad is never the best, and takes no patience back") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double worst : {not_a_number, -inf}) {
    CAPTURE(worst);
    EarlyStoppingVerdict verdict = early_stopping_after({.patience = 2}, {}, worst);
    CHECK_FALSE(verdict.improved);
    CHECK_FALSE(verdict.state.best.has_value());
    CHECK(early_stopping_after({.patience = 2}, verdict.state, worst).stop);
    CHECK(early_stopping_after({.patience = 2}, verdict.state, -1e300).improved);
    const PlateauOptions falling{.goal = Goal::minimum, .patience = 5};
    PlateauState state = plateau_after(falling, {}, -worst);
    state = plateau_after(falling, state, -worst);
    CHECK(state.bad == 2);
    CHECK_FALSE(state.best.has_value());
    CHECK(plateau_after(falling, state, 3.0).bad == 0);
  }
  const EarlyStoppingVerdict best = early_stopping_after({.patience = 2}, {}, inf);
  CHECK(best.improved);
  CHECK_FALSE(early_stopping_after({.patience = 2}, best.state, inf).improved);
}

TEST_CASE("early stopping can minimise and can be turned off") {
  EarlyStoppingVerdict verdict =
      early_stopping_after({.goal = Goal::minimum, .patience = 0}, {}, 1.0);
  CHECK(early_stopping_after({.goal = Goal::minimum, .patience = 0}, verdict.state, .9).improved);
  for (int i = 0; i < 100; ++i)
    verdict = early_stopping_after({.goal = Goal::minimum, .patience = 0}, verdict.state, 2.0);
  CHECK_FALSE(verdict.stop);
  CHECK(verdict.state.bad == 100);
}

TEST_CASE("of equal metrics the smaller finite loss is kept, and patience sees none of it") {
  const EarlyStoppingOptions options{.patience = 10};
  EarlyStoppingState state;
  const auto kept = [&](double metric, double loss) {
    const EarlyStoppingVerdict verdict = early_stopping_after(options, state, metric, loss);
    state = verdict.state;
    return verdict.improved;
  };
  CHECK(kept(.5, not_a_number));
  CHECK_FALSE(kept(.5, not_a_number));
  CHECK_FALSE(kept(.5, std::numeric_limits<double>::infinity()));
  CHECK(kept(.5, 2.0));
  CHECK_FALSE(kept(.5, 2.0));  // the first
  CHECK_FALSE(kept(.5, 3.0));
  CHECK_FALSE(kept(.5, not_a_number));
  CHECK(kept(.5, 1.0));
  CHECK(state.bad == 7);
  CHECK_FALSE(kept(.4, .1));
  CHECK_FALSE(kept(not_a_number, .1));
  CHECK(kept(.6, 5.0));
  CHECK(state.best_loss == 5.0);
  CHECK(state.bad == 0);
  CHECK(kept(.6, 4.0));
  CHECK(kept(.7, not_a_number));
  CHECK_FALSE(state.best_loss.has_value());
}
