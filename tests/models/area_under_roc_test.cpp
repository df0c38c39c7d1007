#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/area_under_roc.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace headrace::models;
using doctest::Approx;

TEST_CASE("the area under the ROC curve counts ties one half") {
  const std::vector<double> scores{.1, .4, .35, .8, .4, .7, .4, .9, .2, .55};
  const std::vector<std::uint8_t> labels{0, 0, 1, 1, 1, 0, 0, 1, 0, 1};
  CHECK(area_under_roc(scores, labels) == Approx(.76).epsilon(1e-12));

  const std::vector<double> equal(10, .5);
  CHECK(area_under_roc(equal, labels) == Approx(.5));
}

TEST_CASE("the area under the ROC curve is NaN with one class or a NaN score") {
  const std::vector<double> scores{.1, .4};
  CHECK(std::isnan(area_under_roc(scores, std::vector<std::uint8_t>{1, 1})));
  const std::vector<double> with_nan{.1, std::numeric_limits<double>::quiet_NaN()};
  CHECK(std::isnan(area_under_roc(with_nan, std::vector<std::uint8_t>{0, 1})));
  CHECK_THROWS_AS(area_under_roc(scores, std::vector<std::uint8_t>{0, 2}), headrace::DataError);
  CHECK_THROWS_AS(area_under_roc(scores, std::vector<std::uint8_t>{0}), headrace::DataError);
}

TEST_CASE("the mean of areas leaves out columns of one label, and is NaN without any") {
  const std::vector<float> scores{.1F, .9F, .5F, .4F, .2F, .6F, .35F, .7F, .7F, .8F, .3F, .8F};
  const std::vector<std::uint8_t> labels{0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1};
  // Columns .1 .4 .35 .8 of 0 0 1 1: 3 of 4 pairs; .9 .2 .7 .3 of 1 0 1 0: all.
  CHECK(macro_area_under_roc(scores, labels, 3) == Approx((.75 + 1.0) / 2));
  CHECK(std::isnan(
      macro_area_under_roc(std::vector<float>{.1F, .2F}, std::vector<std::uint8_t>{1, 0}, 2)));
  CHECK_THROWS_AS(macro_area_under_roc(scores, labels, 5), headrace::DataError);
}
