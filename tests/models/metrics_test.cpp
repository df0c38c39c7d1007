#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/models/metrics/confusion_matrix.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using doctest::Approx;

namespace {

const std::vector<std::int64_t> known_counts{20, 3, 1, 0, 0, 4,  15, 5, 1, 0, 1, 6, 18,
                                             4,  1, 0, 1, 5, 12, 3,  0, 0, 1, 4, 16};

}  // namespace

TEST_CASE("classification metrics give the values computed by hand") {
  const ConfusionMatrix matrix(5, known_counts);
  CHECK(quadratic_weighted_kappa(matrix) == Approx(.871021098287143).epsilon(1e-12));
  CHECK(accuracy(matrix) == Approx(.669421487603306).epsilon(1e-12));
  CHECK(macro_f1(matrix) == Approx(.673648581383773).epsilon(1e-12));
  CHECK(weighted_f1(matrix) == Approx(.669273393695313).epsilon(1e-12));
}

TEST_CASE("a class that is neither present nor predicted stays out of macro F1") {
  ConfusionMatrix matrix(3);
  matrix.add(0, 0);
  matrix.add(1, 1);
  CHECK(macro_f1(matrix) == 1.0);
  matrix.add(0, 2);
  CHECK(macro_f1(matrix) == Approx((2.0 / 3.0 + 1.0 + 0.0) / 3.0));
  CHECK(balanced_accuracy(matrix) == Approx(0.75));
}

TEST_CASE("metrics that are not defined are NaN") {
  ConfusionMatrix matrix(2);
  CHECK(std::isnan(accuracy(matrix)));
  CHECK(std::isnan(macro_f1(matrix)));
  CHECK(std::isnan(quadratic_weighted_kappa(matrix)));
  matrix.add(1, 1);
  CHECK(std::isnan(quadratic_weighted_kappa(matrix)));
  CHECK(accuracy(matrix) == 1.0);
}

TEST_CASE("metrics come from counts and not from means of batches") {
  ConfusionMatrix large(2, {90, 10, 0, 0});
  const ConfusionMatrix small(2, {0, 0, 2, 0});
  large.add(small);
  CHECK(accuracy(large) == Approx(90.0 / 102.0));
}

TEST_CASE("a class outside the matrix is refused with both numbers") {
  ConfusionMatrix matrix(3);
  CHECK_THROWS_WITH_AS(matrix.add(3, 0),
                       "[ConfusionMatrix] classes must lie in [0, 3), got true 3, predicted 0",
                       headrace::DataError);
  CHECK_THROWS_AS(ConfusionMatrix(1), headrace::ConfigError);
  CHECK_THROWS_AS(ConfusionMatrix(2, {1, 2, 3}), headrace::ConfigError);
}

TEST_CASE("counting on the device equals counting one by one") {
  const at::Tensor logits =
      at::tensor({2., 1., 0., 0., 3., 1., 0., 1., 5., 9., 1., 1.}).view({4, 3});
  const at::Tensor target = at::tensor({0, 1, 1, 2}, at::kLong);
  ConfusionAccumulator counts(3);
  counts.add(logits.slice(0, 0, 1), target.slice(0, 0, 1));
  counts.add(logits.slice(0, 1, 4), target.slice(0, 1, 4));
  const ConfusionMatrix matrix = counts.matrix();
  CHECK(matrix.total() == 4);
  CHECK(matrix.at(0, 0) == 1);
  CHECK(matrix.at(1, 1) == 1);
  CHECK(matrix.at(1, 2) == 1);
  CHECK(matrix.at(2, 0) == 1);

  ConfusionAccumulator resumed(3);
  resumed.restore(counts.state());
  resumed.add(logits, target);
  CHECK(resumed.matrix().total() == 8);
  CHECK_THROWS_AS(ConfusionAccumulator(4).restore(counts.state()), headrace::ConfigError);
}

TEST_CASE("sums that were taken out do not change with the batches after them") {
  ConfusionAccumulator counts(3);
  const at::Tensor target = at::tensor({0, 1, 2}, at::kLong);
  counts.add(at::eye(3), target);
  const at::Tensor kept = counts.state();
  ConfusionAccumulator resumed(3);
  resumed.restore(kept);
  counts.add(at::eye(3), target);
  resumed.add(at::eye(3), target);
  CHECK(kept.sum().item<std::int64_t>() == 3);
  CHECK(resumed.matrix().total() == 6);
}

TEST_CASE("rows that are absent do not count, and impossible targets are reported") {
  const at::Tensor logits = at::eye(3);
  const at::Tensor target = at::tensor({0, 7, 2}, at::kLong);
  ConfusionAccumulator counts(3);
  counts.add(logits, target, target < 3);
  CHECK(counts.matrix().total() == 2);
  CHECK(accuracy(counts.matrix()) == 1.0);
  counts.add(logits, target);
  CHECK_THROWS_AS(counts.matrix(), headrace::DataError);
}
