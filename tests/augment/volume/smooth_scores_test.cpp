#include <headrace/augment/volume/smooth_scores.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Floats;

namespace {

std::int64_t mirrored(std::int64_t at, std::int64_t side) {
  while (at < 0 || at >= side)
    at = side == 1 ? 0 : at < 0 ? -at : 2 * (side - 1) - at;
  return at;
}

/// Along one axis, in double; the kernel has the odd number of taps nearest to 6 deviations + 0.5.
std::vector<double> smoothed(const std::vector<double>& scores, const GridExtent& extent,
                             std::size_t axis, double deviation) {
  if (deviation == 0) return scores;
  const auto reach = static_cast<std::int64_t>(std::floor((6 * deviation + 0.5) / 2));
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    weights.push_back(std::exp(-0.5 * static_cast<double>(k * k) / (deviation * deviation)));
    sum += weights.back();
  }
  std::vector<double> result;
  for (std::int64_t z = 0; z < extent[0]; ++z) {
    for (std::int64_t y = 0; y < extent[1]; ++y) {
      for (std::int64_t x = 0; x < extent[2]; ++x) {
        double value = 0;
        for (std::int64_t k = -reach; k <= reach; ++k) {
          GridExtent at{z, y, x};
          at[axis] = mirrored(at[axis] + k, extent[axis]);
          value +=
              weights[static_cast<std::size_t>(k + reach)] / sum *
              scores[static_cast<std::size_t>((at[0] * extent[1] + at[1]) * extent[2] + at[2])];
        }
        result.push_back(value);
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("scores are smoothed by a Gaussian with a deviation for each axis") {
  for (const GridExtent& extent :
       {GridExtent{7, 9, 40}, GridExtent{1, 5, 3}, GridExtent{12, 2, 8}}) {
    for (const std::array<double, 3>& deviations :
         {std::array{1.0, 1.0, 1.0}, std::array{0.0, 2.0, 0.6}, std::array{1.6, 0.0, 0.0}}) {
      Floats scores = test::noise_floats(voxels_of(extent));
      std::vector<double> expected(scores.begin(), scores.end());
      for (std::size_t axis = 0; axis < 3; ++axis)
        expected = smoothed(expected, extent, axis, deviations[axis]);
      smooth_scores(scores, extent, deviations);
      double most = 0;
      for (std::size_t i = 0; i < scores.size(); ++i)
        most = std::max(most, std::abs(static_cast<double>(scores[i]) - expected[i]));
      CHECK(most < 2e-6);
    }
  }
}

TEST_CASE("without deviations scores stay to the bit, and a constant stays what it is") {
  const Floats noise = test::noise_floats(6 * 7 * 8);
  Floats scores = noise;
  smooth_scores(scores, {6, 7, 8}, {0, 0, 0});
  CHECK(scores == noise);
  Floats even(6 * 7 * 8, 0.42F);
  smooth_scores(even, {6, 7, 8}, {1.5, 1.5, 1.5});
  for (const float score : even)
    REQUIRE(std::abs(score - 0.42F) < 1e-6F);
}

TEST_CASE("a score that is no number spoils only what the kernel reaches") {
  Floats scores(21, 1.0F);
  scores[10] = std::numeric_limits<float>::quiet_NaN();
  smooth_scores(scores, {1, 1, 21}, {0, 0, 1});
  for (std::size_t i = 0; i < scores.size(); ++i)
    CHECK(std::isnan(scores[i]) == (i >= 7 && i <= 13));
}

TEST_CASE("smoothing refuses what cannot be right") {
  Floats scores(6);
  CHECK_THROWS_WITH_AS(smooth_scores(scores, {1, 2, 4}, {1, 1, 1}),
                       "[smoothing] extent says 8 voxels, got 6", ConfigError);
  CHECK_THROWS_AS(smooth_scores(scores, {1, 2, 3}, {1, -1, 1}), ConfigError);
  CHECK_THROWS_AS(smooth_scores(scores, {1, 2, 3}, {1, 20.1, 1}), ConfigError);
  CHECK_THROWS_AS(
      smooth_scores(scores, {1, 2, 3}, {std::numeric_limits<double>::quiet_NaN(), 1, 1}),
      ConfigError);
  smooth_scores({}, {0, 2, 3}, {1, 1, 1});
}
