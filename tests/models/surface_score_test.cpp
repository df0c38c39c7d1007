#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/surface_score.h>
#include <headrace/tests/models/surface_cases.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

using namespace headrace::models;
using doctest::Approx;
using headrace::ConfigError;
using headrace::DataError;
using headrace::GridExtent;
using headrace::test::Body;
using headrace::test::Mask;
namespace test = headrace::test;

namespace {

constexpr std::array<double, 10> score_references[] = {
#include "reference/surface_values.inc"
};

constexpr std::array<double, 6> tolerances{0, .5, 1, std::numbers::sqrt2, 2, 3.5};

std::vector<double> measured(const MaskPair& pair) {
  const SurfaceDice surface = surface_dice(pair, tolerances);
  const VariationOfInformation information = variation_of_information(pair);
  std::vector<double> all{surface.prediction_area, surface.truth_area};
  for (const SurfaceAgreement& at : surface.at)
    all.push_back(at.dice);
  all.push_back(information.of_truth);
  all.push_back(information.of_prediction);
  return all;
}

/// All numbers of a score.
std::vector<double> numbers_of(const SurfaceScore& score) {
  std::vector<double> all{score.value,
                          score.least,
                          score.most,
                          score.information_score,
                          score.surface.prediction_area,
                          score.surface.truth_area,
                          score.surface.at[0].dice,
                          score.information.of_truth,
                          score.information.of_prediction};
  for (const TopologyCounts& counts : score.topology.dimensions)
    for (const std::int64_t count : {counts.prediction, counts.truth, counts.matched_least,
                                     counts.matched, counts.matched_most})
      all.push_back(static_cast<double>(count));
  return all;
}

constexpr GridExtent twelve{12, 12, 12};

MaskPair oracle_boxes() {
  return {Body(twelve).fill({2, 2, 2}, {7, 8, 5}).voxels(),
          Body(twelve).fill({3, 2, 4}, {8, 8, 9}).voxels(), twelve};
}

}  // namespace

TEST_CASE(
    "surfaces and parts of 150 random volumes are those of surface-distance and scikit-image") {
  REQUIRE(std::size(score_references) == 150);
  for (int i = 0; i < 150; ++i) {
    CAPTURE(i);
    const std::vector<double> found = measured(test::surface_case(i).pair());
    for (std::size_t k = 0; k < found.size(); ++k) {
      CAPTURE(k);
      CHECK(std::abs(found[k] - score_references[i][k]) < 1e-9);
    }
  }
}

TEST_CASE("areas of known surfaces are the oracle's") {
  const GridExtent extent{5, 6, 7};
  const Mask box = Body(extent).fill({1, 1, 2}, {3, 4, 4}).voxels();
  const double none = 0;
  const SurfaceDice found = surface_dice({box, Mask(box.size()), extent}, {&none, 1});
  CHECK(found.prediction_area == Approx(53.5310406807922).epsilon(1e-13));
  CHECK(found.truth_area == 0);
  const Mask voxel{1};
  CHECK(surface_dice({voxel, voxel, {1, 1, 1}}, {&none, 1}).truth_area ==
        Approx(std::numbers::sqrt3).epsilon(1e-14));
  CHECK(surface_area(0) == 0);
  CHECK(surface_area(255) == 0);
  CHECK(surface_area(0b00001111) == 1);
  for (unsigned cell = 0; cell < 256; ++cell)
    CHECK(surface_area(cell) == surface_area(255 - cell));
}

TEST_CASE("surface Dice of two boxes is the oracle's at each tolerance") {
  const std::vector<double> at{.5, 1, 2, 3};
  const SurfaceDice found = surface_dice(oracle_boxes(), at);
  CHECK(found.prediction_area == Approx(167.330030554016).epsilon(1e-12));
  CHECK(found.truth_area == Approx(216.986884803508).epsilon(1e-12));
  const std::array<double, 4> expected{.220299996939363, .528175775491622, .783145978395229,
                                       .859916162935013};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::abs(found.at[i].dice - expected[i]) < 1e-12);
    CHECK(found.at[i].tolerance == at[i]);
    CHECK(found.at[i].dice == Approx((found.at[i].prediction_near + found.at[i].truth_near) /
                                     (found.prediction_area + found.truth_area)));
  }
}

TEST_CASE("surfaces are found across words, and as far as the largest tolerance reaches") {
  const GridExtent line{1, 1, 200};
  for (const std::int64_t from : {0, 31, 63, 64, 127, 150}) {
    for (const std::int64_t away : {1, 2, 30, 31, 32}) {
      const MaskPair pair(Body(line).fill({0, 0, from}, {0, 0, from}).voxels(),
                          Body(line).fill({0, 0, from + away}, {0, 0, from + away}).voxels(), line);
      const std::vector<double> at{static_cast<double>(away) - 1,
                                   std::min(31.0, 1.0 * static_cast<double>(away))};
      const SurfaceDice found = surface_dice(pair, at);
      CHECK(found.at[0].dice == Approx(.5));  // the cells between them
      CHECK(found.at[1].dice == Approx(away == 32 ? .5 : 1.0));
    }
  }
}

TEST_CASE("information is the oracle's, in bits, and splits are told from merges") {
  const std::vector<std::int32_t> a{1, 1, 1, 2, 2, 2, 2, 3, 3, 3};
  const std::vector<std::int32_t> b{1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  const VariationOfInformation found = variation_of_information(a, b);
  CHECK(found.of_prediction == Approx(.449868115695047 / std::numbers::ln2).epsilon(1e-12));
  CHECK(found.of_truth == Approx(.415888308335967 / std::numbers::ln2).epsilon(1e-12));
  CHECK(std::abs(found.sum() - 1.249022499567306) < 1e-12);
  CHECK(std::abs(found.score() - .727427867866675) < 1e-12);
  const std::vector<std::int32_t> zeros{0, 0, 1, 1};
  CHECK(variation_of_information(zeros, zeros).sum() == 0);
  // One object of the truth in two parts.
  const MaskPair split(Mask{1, 1, 0, 1, 1}, Mask{1, 1, 1, 1, 1}, {1, 1, 5});
  const VariationOfInformation parts = variation_of_information(split);
  CHECK(parts.of_truth == 0);
  CHECK(parts.of_prediction == Approx(.8 * std::log2(2.5) + .2 * std::log2(5)));
  // Voxels that touch at an edge are one component here.
  const MaskPair edge(Mask{1, 0, 0, 1}, Mask{1, 0, 0, 1}, {1, 2, 2});
  CHECK(variation_of_information(edge).sum() == 0);
}

TEST_CASE("a perfect prediction scores 1, and the parts have their shares") {
  const MaskPair boxes = oracle_boxes();
  const SurfaceScore score = surface_score(boxes);
  CHECK(score.surface.at[0].tolerance == 2);
  CHECK(score.surface.at[0].dice == Approx(.783145978395229));
  CHECK(score.information_score == score.information.score(.3));
  CHECK(score.value == Approx(.30 * score.topology.value + .35 * score.surface.at[0].dice +
                              .35 * score.information_score));
  CHECK(score.least <= score.value);
  CHECK(score.value <= score.most);
  const Mask truth = test::surface_case(3).truth;
  Mask known = truth;
  for (std::uint8_t& voxel : known)
    voxel = voxel == 2 ? 1 : voxel;  // a prediction where nothing is known
  const SurfaceScore perfect = surface_score({known, truth, test::surface_case(3).extent});
  CHECK(perfect.information_score == 1);
  CHECK(perfect.surface.at[0].dice == 1);
  CHECK(perfect.topology.dimensions[0].matched == perfect.topology.dimensions[0].truth);
  CHECK(perfect.value == Approx(1));
}

TEST_CASE("empty volumes agree, and nothing agrees with an empty one") {
  const Mask none(1728);
  const Mask box = Body(twelve).fill({1, 1, 1}, {3, 3, 3}).fill({1, 1, 5}, {3, 3, 7}).voxels();
  const SurfaceScore both = surface_score({none, none, twelve});
  CHECK(both.value == 1);
  CHECK(both.surface.at[0].dice == 1);
  CHECK(both.information_score == 1);
  CHECK(both.topology.value == 1);
  for (const MaskPair& pair : {MaskPair(none, box, twelve), MaskPair(box, none, twelve)}) {
    const SurfaceScore one = surface_score(pair);
    CHECK(one.surface.at[0].dice == 0);
    CHECK(one.information.sum() == Approx(1));  // which of two boxes a voxel belongs to
    CHECK(one.topology.value < 1);
  }
  const SurfaceScore unknown = surface_score({box, Mask(1728, 2), twelve});
  CHECK(unknown.value == 1);
}

TEST_CASE("scores are the same for 1, 2 and 8 threads") {
  const oneapi::tbb::global_control allowed(oneapi::tbb::global_control::max_allowed_parallelism,
                                            8);
  for (int i = 0; i < 20; ++i) {
    const MaskPair pair = test::surface_case(i).pair();
    std::vector<double> one;
    oneapi::tbb::task_arena(1).execute([&] { one = numbers_of(surface_score(pair)); });
    for (const int threads : {2, 8}) {
      std::vector<double> several;
      oneapi::tbb::task_arena(threads).execute([&] { several = numbers_of(surface_score(pair)); });
      CHECK(several == one);
    }
  }
}

TEST_CASE("what cannot be measured is refused in words") {
  const Mask six(6);
  CHECK_THROWS_WITH_AS(MaskPair(six, six, {1, 2, 4}),
                       "[mask pair] prediction and truth must be volumes of 1 x 2 x 4 voxels, got "
                       "6 and 6",
                       DataError);
  CHECK_THROWS_AS(MaskPair(six, Mask(5), {1, 2, 3}), DataError);
  CHECK_THROWS_AS(MaskPair({}, {}, {0, 2, 3}), DataError);
  CHECK_THROWS_AS(MaskPair(six, six, {-1, -2, 3}), DataError);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(MaskPair(six, six, {most, most, most}), DataError);
  const MaskPair pair(six, six, {1, 2, 3});
  for (const double wrong : {-1.0, 31.5, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(surface_score(pair, {.tolerance = wrong}), ConfigError);
  CHECK_THROWS_AS(surface_score(pair, {.alpha = -1}), ConfigError);
  CHECK_THROWS_AS(surface_dice(pair, {}), ConfigError);
  CHECK_THROWS_AS(surface_dice(pair, std::vector<double>(65, 1.0)), ConfigError);
  const std::vector<std::int32_t> two{1, 2};
  CHECK_THROWS_AS(variation_of_information(two, std::vector<std::int32_t>{1}), DataError);
  CHECK_THROWS_AS(variation_of_information(two, std::vector<std::int32_t>{1, -1}), DataError);
}
