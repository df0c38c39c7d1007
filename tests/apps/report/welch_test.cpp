#include <headrace/apps/report/welch.h>

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using doctest::Approx;

// Expected values: the incomplete beta function in 30 digits (mpmath), inverted.
TEST_CASE("quantiles of Student's distribution are right to ten digits") {
  struct Known {
    double probability, degrees, value;
  };
  for (const Known& known :
       {Known{0.975, 1, 12.7062047361747}, Known{0.975, 2, 4.30265272974946},
        Known{0.975, 5, 2.57058183563632}, Known{0.975, 10, 2.22813885198627},
        Known{0.95, 4, 2.13184678632665}, Known{0.995, 30, 2.74999565356723},
        Known{0.975, 7.3, 2.3450667365477}, Known{0.975, 1000, 1.96233908082641}}) {
    CAPTURE(known.degrees);
    CHECK(student_quantile(known.probability, known.degrees) == Approx(known.value).epsilon(1e-10));
    CHECK(student_quantile(1.0 - known.probability, known.degrees) ==
          Approx(-known.value).epsilon(1e-9));
  }
  CHECK(student_quantile(0.5, 3.0) == Approx(0.0).epsilon(1e-9));
}

TEST_CASE("a spread leaves out what is no number") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Spread spread = spread_over({1.0, none, 3.0, 5.0});
  CHECK(spread.count == 3);
  CHECK(spread.mean == Approx(3.0));
  CHECK(spread.deviation == Approx(2.0));
  CHECK(spread_over({none}).count == 0);
  CHECK(spread_over({7.0}).deviation == 0.0);
}

TEST_CASE("the interval of a difference is Welch's") {
  const Spread a = spread_over(
      {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4});
  const Spread b = spread_over(
      {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4});
  CHECK(a.deviation == Approx(2.80489368273177).epsilon(1e-12));
  const auto difference = welch_difference(a, b);
  REQUIRE(difference);
  CHECK(difference->value == Approx(2.16666666666667).epsilon(1e-12));
  CHECK(difference->degrees == Approx(24.9885292902314).epsilon(1e-12));
  CHECK(difference->half_width == Approx(1.81742960047426).epsilon(1e-9));
  const auto unequal =
      welch_difference(spread_over({100, 102, 98, 101, 99}), spread_over({88, 91, 90, 87}));
  REQUIRE(unequal);
  CHECK(unequal->value == Approx(-11.0));
  CHECK(unequal->degrees == Approx(6.04724409448819).epsilon(1e-12));
  CHECK(unequal->half_width == Approx(2.82010829395268).epsilon(1e-9));
}

TEST_CASE("without two values on both sides there is no interval") {
  CHECK_FALSE(welch_difference(spread_over({1.0}), spread_over({1.0, 2.0})));
  CHECK_FALSE(welch_difference(spread_over({1.0, 2.0}), spread_over({})));
  const auto constant = welch_difference(spread_over({2.0, 2.0}), spread_over({3.0, 3.0}));
  REQUIRE(constant);
  CHECK(constant->value == 1.0);
  CHECK(constant->half_width == 0.0);
}
