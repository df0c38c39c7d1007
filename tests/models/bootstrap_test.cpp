#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/models/metrics/bootstrap.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace headrace::models;
using doctest::Approx;

namespace {

struct Records {
  std::vector<double> values{};
  std::vector<std::int64_t> groups{};
};

// `size` records a group; each is its group's value and `own` of its own.
Records grouped(int groups, int size, double own) {
  headrace::Random random({.seed = 3});
  Records records;
  for (int group = 0; group < groups; ++group) {
    const double shared = random.normal();
    for (int i = 0; i < size; ++i) {
      records.values.push_back(shared * (1 - own) + random.normal() * own);
      records.groups.push_back(group * 1000);
    }
  }
  return records;
}

Records each_its_own(Records records) {
  std::iota(records.groups.begin(), records.groups.end(), 0);
  return records;
}

double below_mean(const Records& records, const BootstrapOptions& options = {}) {
  const BootstrapBound bound = bootstrap_lower_bound(records.values, records.groups, options);
  return bound.mean - bound.lower;
}

}  // namespace

TEST_CASE("two groups have means of 0, 1/2 and 1 in a quarter, a half and a quarter of resamples") {
  const std::vector<double> values{0, 1};
  const std::vector<std::int64_t> groups{5, -2};
  const auto lower = [&](double share) {
    return bootstrap_lower_bound(values, groups, {.share = share}).lower;
  };
  CHECK(bootstrap_lower_bound(values, groups).mean == .5);
  CHECK(lower(.95) == 0);
  CHECK(lower(.8) == 0);
  CHECK(lower(.7) == .5);
  CHECK(lower(.3) == .5);
  CHECK(lower(.2) == 1);
}

TEST_CASE("of many independent records the bound is that of the normal distribution") {
  const Records records = each_its_own(grouped(400, 1, 1));
  double squares = 0;
  const double mean = bootstrap_lower_bound(records.values, records.groups).mean;
  for (const double value : records.values)
    squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / 399 / 400);
  CHECK(below_mean(records) == Approx(1.645 * error).epsilon(.1));
}

TEST_CASE("records that agree within their group say less than as many that do not") {
  const Records agreeing = grouped(40, 10, .05);
  CHECK(below_mean(agreeing) > 2.5 * below_mean(each_its_own(agreeing)));
  const Records differing = grouped(40, 10, 1);
  CHECK(below_mean(differing) < 1.3 * below_mean(each_its_own(differing)));
}

TEST_CASE("a group counts by its records") {
  const std::vector<double> values{1, 1, 1, 0};
  const std::vector<std::int64_t> groups{0, 0, 0, 1};
  const BootstrapBound bound = bootstrap_lower_bound(values, groups, {.share = .5});
  CHECK(bound.mean == .75);
  CHECK(bound.lower == .75);  // both drawn once, not 1/2
}

TEST_CASE("the bound depends on the seed alone, and hardly on it") {
  Records records = grouped(30, 4, .5);
  const double bound = below_mean(records);
  CHECK(bound == below_mean(records));
  const double other = below_mean(records, {.seed = 7});
  CHECK(other != bound);
  CHECK(other == Approx(bound).epsilon(.15));
  CHECK(below_mean(records, {.share = .99}) > bound);
}

TEST_CASE("a value that never varies is its own bound") {
  const std::vector<double> values(6, .25);
  const std::vector<std::int64_t> groups{0, 0, 1, 1, 2, 2};
  CHECK(bootstrap_lower_bound(values, groups).lower == .25);
}

TEST_CASE("nothing is said of one group, of NaN, or with too few resamples") {
  const std::vector<double> values{.2, .4};
  const std::vector<std::int64_t> one{3, 3};
  const std::vector<std::int64_t> two{3, 4};
  CHECK_THROWS_WITH_AS(bootstrap_lower_bound(values, one),
                       "[bootstrap] a bound needs at least two groups, got 1; measure more of them",
                       headrace::DataError);
  CHECK_THROWS_AS(bootstrap_lower_bound({}, {}), headrace::DataError);
  CHECK_THROWS_AS(bootstrap_lower_bound(values, std::vector<std::int64_t>{1}), headrace::DataError);
  const std::vector<double> with_nan{.2, std::numeric_limits<double>::quiet_NaN()};
  CHECK_THROWS_AS(bootstrap_lower_bound(with_nan, two), headrace::DataError);
  CHECK_THROWS_AS(bootstrap_lower_bound(values, two, {.share = 1}), headrace::ConfigError);
  CHECK_THROWS_AS(bootstrap_lower_bound(values, two, {.resamples = 19}), headrace::ConfigError);
  CHECK_NOTHROW(bootstrap_lower_bound(values, two, {.resamples = 20}));
}
