#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/probability_histogram.h>
#include <headrace/models/metrics/threshold.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/reference/loss_values.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace headrace::models;
using doctest::Approx;
namespace test = headrace::test;
namespace reference = headrace::test::reference;

namespace {

struct Column {
  std::vector<float> scores;
  std::vector<std::uint8_t> labels;
};

// Probabilities of the reference's labels.
Column known_column(std::int64_t column) {
  const at::Tensor p = test::values({40, 4}, 18).to(at::kFloat).sigmoid();
  const at::Tensor y = test::classes({40, 4}, 2, 17);
  Column known;
  for (std::int64_t i = 0; i < 40; ++i) {
    known.scores.push_back(p[i][column].item<float>());
    known.labels.push_back(static_cast<std::uint8_t>(y[i][column].item<std::int64_t>()));
  }
  return known;
}

ConfusionMatrix decisions(const Column& column, double threshold) {
  ConfusionMatrix matrix(2);
  for (std::size_t i = 0; i < column.scores.size(); ++i)
    matrix.add(column.labels[i], double{column.scores[i]} >= threshold ? 1 : 0);
  return matrix;
}

}  // namespace

TEST_CASE("the best threshold reaches the best F1 and balanced accuracy that scikit-learn finds") {
  for (std::int64_t k = 0; k < 3; ++k) {
    const Column column = known_column(k);
    const double threshold = best_threshold(column.scores, column.labels);
    CHECK(f1(decisions(column, threshold), 1) ==
          Approx(reference::label_best_f1[k]).epsilon(1e-12));
  }
  const Column column = known_column(0);
  const double threshold =
      best_threshold(column.scores, column.labels, ThresholdGoal::balanced_accuracy);
  CHECK(balanced_accuracy(decisions(column, threshold)) ==
        Approx(reference::label_best_balanced_accuracy).epsilon(1e-12));
}

TEST_CASE("a threshold lies half way, and of equally good ones the nearest to .5 is taken") {
  const auto best = [](std::vector<float> scores, std::vector<std::uint8_t> labels) {
    return best_threshold(scores, labels);
  };
  CHECK(best({.1F, .2F, .7F, .9F}, {0, 0, 1, 1}) == Approx(.45));
  CHECK(best({.2F, .8F}, {1, 0}) == 0.0);  // all are given it
  // F1 of 2/3 at .85 (one of two found) and 2/3 at .45 (both, and two that are none).
  CHECK(best({.9F, .8F, .7F, .5F, .4F}, {1, 0, 0, 1, 0}) == Approx(.45));
}

TEST_CASE("a threshold between neighbouring floats decides the same in float and double") {
  const float lower = .5F;
  const float upper = std::nextafter(lower, 1.0F);
  const double threshold =
      best_threshold(std::vector<float>{lower, upper}, std::vector<std::uint8_t>{0, 1});
  CHECK(threshold == double{upper});
  CHECK(static_cast<double>(static_cast<float>(threshold)) == threshold);
}

TEST_CASE("without both labels, or with a NaN, the threshold stays .5") {
  const std::vector<float> scores{.1F, .2F};
  CHECK(best_threshold(scores, std::vector<std::uint8_t>{1, 1}) == .5);
  CHECK(best_threshold(scores, std::vector<std::uint8_t>{0, 0}) == .5);
  CHECK(best_threshold(std::vector<float>{}, std::vector<std::uint8_t>{}) == .5);
  const std::vector<float> with_nan{.1F, std::numeric_limits<float>::quiet_NaN()};
  CHECK(best_threshold(with_nan, std::vector<std::uint8_t>{0, 1}) == .5);
  CHECK_THROWS_AS(best_threshold(scores, std::vector<std::uint8_t>{0, 2}), headrace::DataError);
  CHECK_THROWS_AS(best_threshold(scores, std::vector<std::uint8_t>{0}), headrace::DataError);
}

TEST_CASE("a histogram decides at its edges as the probabilities themselves") {
  const Column column = known_column(1);
  const at::Tensor p = at::tensor(column.scores).view({2, 1, 4, 5});
  const at::Tensor y = at::tensor(column.labels).view({2, 1, 4, 5});
  ProbabilityHistogram histogram(1);
  histogram.add(p, y);
  for (const double threshold : {0.0, .25, .5, 129 / 256., 1.0}) {
    CAPTURE(threshold);
    const ConfusionMatrix expected = decisions(column, threshold);
    const ConfusionMatrix found = histogram.matrix(0, threshold);
    for (std::int64_t i = 0; i < 4; ++i)
      CHECK(found.at(i / 2, i % 2) == expected.at(i / 2, i % 2));
  }
  const double best = histogram.best_threshold(0);
  CHECK(best * 256 == std::round(best * 256));
  for (int edge = 0; edge < 256; ++edge)
    CHECK(f1(decisions(column, edge / 256.), 1) <= f1(histogram.matrix(0, best), 1));
}

TEST_CASE("a histogram keeps channels apart, leaves out what does not count, and goes on") {
  const at::Tensor p = at::tensor({.9F, .1F, .8F, .2F, .7F, .3F}).view({1, 2, 3});
  const at::Tensor y = at::tensor({1, 0, 255, 1, 1, 0}, at::kLong).view({1, 2, 3});
  ProbabilityHistogram counts(2);
  counts.add(p, y, y != 255);
  CHECK(counts.matrix(0, .5).total() == 2);
  CHECK(counts.matrix(0, .5).at(1, 1) == 1);
  CHECK(counts.matrix(1, .5).total() == 3);
  CHECK(counts.matrix(1, .5).at(1, 0) == 1);
  ProbabilityHistogram resumed(2);
  resumed.restore(counts.state());
  resumed.add(p, y, at::zeros({1, 1, 1}, at::kBool));
  CHECK(at::equal(resumed.state().slice(0, 0, 1024), counts.state().slice(0, 0, 1024)));
  CHECK_THROWS_AS(ProbabilityHistogram(3).restore(counts.state()), headrace::ConfigError);
  CHECK_THROWS_AS(ProbabilityHistogram(0), headrace::ConfigError);
}
