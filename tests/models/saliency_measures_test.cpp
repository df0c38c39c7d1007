#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/saliency_measures.h>
#include <headrace/models/metrics/threshold_measures.h>
#include <headrace/models/metrics/weighted_f.h>
#include <headrace/tests/models/saliency_cases.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace headrace::models;
using doctest::Approx;
namespace test = headrace::test;

namespace {

struct Expected {
  std::int64_t height;
  std::int64_t width;
  std::array<double, 13> values;
};

constexpr Expected pysodmetrics[] = {
#include "reference/saliency_values.inc"
};

constexpr std::array<const char*, 13> measure_names{
    "MAE",        "S",          "E mean", "E maximum", "E adaptive", "F mean", "F maximum",
    "F adaptive", "weighted F", "IoU",    "Dice",      "precision",  "recall"};

std::array<double, 13> figures(const SaliencyMeasures& m) {
  const auto mean = [](const ThresholdCurve& curve) {
    return std::accumulate(curve.at.begin(), curve.at.end(), 0.0) / 256;
  };
  const auto largest = [](const ThresholdCurve& curve) {
    return *std::ranges::max_element(curve.at);
  };
  return {m.mae,          m.s.value,           mean(m.e),       largest(m.e), m.e.adaptive,
          mean(m.f),      largest(m.f),        m.f.adaptive,    m.weighted_f, m.overlap.iou,
          m.overlap.dice, m.overlap.precision, m.overlap.recall};
}

void check_case(int i) {
  const SaliencyPair pair = test::saliency_case(i);
  const Expected& expected = pysodmetrics[i];
  REQUIRE(pair.height() == expected.height);
  REQUIRE(pair.width() == expected.width);
  const std::array<double, 13> found = figures(saliency_measures(pair));
  for (std::size_t k = 0; k < measure_names.size(); ++k) {
    CAPTURE(i);
    CAPTURE(std::string(measure_names[k]));
    CHECK(std::abs(found[k] - expected.values[k]) < 1e-9);
  }
}

// A prediction of one picture, and its mask.
struct Maps {
  std::vector<double> p{};
  std::vector<std::uint8_t> mask{};
};

// Maps of 8 x 10 whose measures are known; `kind` is the column of the oracle.
Maps known(char kind) {
  Maps maps;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 10; ++x) {
      const double q = (3 * x + 5 * y) % 11 / 10.0;
      const bool object = (x - 4) * (x - 4) + (y - 3) * (y - 3) <= 6;
      maps.mask.push_back(object ? 1 : 0);
      if (kind == 'A') maps.p.push_back(q);
      if (kind == 'B') maps.p.push_back(object ? .5 + .5 * q : .5 * q);
      if (kind == 'C') maps.p.push_back(object ? .8 : .5 * q);
    }
  }
  return maps;
}

SaliencyPair pair_of(const Maps& maps, std::int64_t height, std::int64_t width,
                     SaliencyRange range = SaliencyRange::as_it_is) {
  return {maps.p, maps.mask, {height, width}, range};
}

SaliencyMeasures measured(const Maps& maps, std::int64_t height, std::int64_t width) {
  return saliency_measures(pair_of(maps, height, width));
}

struct Oracle {
  char kind;
  double s_object;
  double s_region;
  std::array<double, 13> values;
};

constexpr double not_said = -1.0;

constexpr Oracle oracles[] = {
    {'A',
     .636569633690895,
     .006756952625102,
     {.50125, .321663293157998, .413680456479288, .623092391817720, .500979789910452,
      .273119530068393, .323651452282158, .195488721804511, not_said, .1875, .315789473684211,
      9. / 36, 9. / 21}},
    {'B',
     .871014839004940,
     .648002355914913,
     {.250625, .759508597459927, .606244213973420, .984585653400613, .685733785726476,
      .627379532568899, .976284584980237, .764705882352941, not_said, .904761904761905, .95, 1,
      19. / 21}},
    {'C',
     .897627223295030,
     .694082485872779,
     {.2375, .795854854583905, .608968579505666, 1.012658227848100, 1.012658227848100,
      .559826158292722, 1, 1, .609587298043992, 1, 1, 1, 1}}};

// The smallest squared distance to a pixel of the mask, and the leftmost, upper place with it.
PixelPlace nearest_by_search(const std::vector<std::uint8_t>& mask, SaliencySize size, int row,
                             int column) {
  PixelPlace best;
  int best_distance = std::numeric_limits<int>::max();
  for (int x = 0; x < size.width; ++x) {
    for (int y = 0; y < size.height; ++y) {
      const int distance = (x - column) * (x - column) + (y - row) * (y - row);
      if (mask[static_cast<std::size_t>(y * size.width + x)] == 0 || distance >= best_distance)
        continue;
      best = {y, x};
      best_distance = distance;
    }
  }
  return best;
}

std::string refusal(const Maps& maps, SaliencySize size,
                    SaliencyRange range = SaliencyRange::as_it_is) {
  try {
    const SaliencyPair pair(maps.p, maps.mask, size, range);
  } catch (const headrace::DataError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the measures of known maps are those of the definitions") {
  for (const Oracle& oracle : oracles) {
    CAPTURE(oracle.kind);
    const SaliencyMeasures m = measured(known(oracle.kind), 8, 10);
    CHECK(std::abs(m.s.object - oracle.s_object) < 1e-9);
    CHECK(std::abs(m.s.region - oracle.s_region) < 1e-9);
    const std::array<double, 13> found = figures(m);
    for (std::size_t k = 0; k < measure_names.size(); ++k) {
      CAPTURE(std::string(measure_names[k]));
      if (oracle.values[k] != not_said) CHECK(std::abs(found[k] - oracle.values[k]) < 1e-9);
    }
  }
}

TEST_CASE("two hundred random pictures measure as PySODMetrics measures them") {
  static_assert(std::size(pysodmetrics) == test::SaliencyCases::free + test::SaliencyCases::tied);
  for (int i = 0; i < test::SaliencyCases::free; ++i)
    check_case(i);
}

TEST_CASE(
    "where pixels of the object are equally near, weighted F takes the one that SciPy takes") {
  for (int i = 0; i < test::SaliencyCases::tied; ++i)
    check_case(test::SaliencyCases::free + i);
}

TEST_CASE(
    "the nearest pixel of the object is what a search finds, the leftmost and upper of equal") {
  for (int i = 0; i < 240; i += 13) {
    const SaliencyPair pair = test::saliency_case(i);
    const SaliencySize size{pair.height(), pair.width()};
    const std::vector<std::uint8_t> mask(pair.mask().begin(), pair.mask().end());
    const std::vector<PixelPlace> found = nearest_object(mask, size);
    int wrong = 0;
    for (int row = 0; row < size.height; ++row) {
      for (int column = 0; column < size.width; ++column) {
        const auto place = static_cast<std::size_t>(row * size.width + column);
        if (found[place] != nearest_by_search(mask, size, row, column)) ++wrong;
      }
    }
    CAPTURE(i);
    CHECK(wrong == 0);
  }
  CHECK_THROWS_AS(nearest_object(std::vector<std::uint8_t>(6), {2, 3}), headrace::DataError);
  CHECK_THROWS_AS(nearest_object(std::vector<std::uint8_t>{1}, {2, 3}), headrace::DataError);
}

TEST_CASE("an empty mask is measured by how little is predicted, a full one by how much") {
  Maps maps{.p = {.25, .5, .75, 0, .1, .9}, .mask = std::vector<std::uint8_t>(6, 0)};
  const SaliencyMeasures empty = measured(maps, 2, 3);
  const double mean = 2.5 / 6;
  CHECK(empty.s.value == Approx(1 - mean));
  CHECK(empty.e.adaptive == Approx(5. / 5));  // .9 alone reaches twice the mean
  CHECK(empty.f.adaptive == 0);
  CHECK(empty.weighted_f == 0);
  CHECK(empty.overlap.iou == 0);
  CHECK(empty.overlap.recall == 0);
  maps.mask.assign(6, 1);
  const SaliencyMeasures full = measured(maps, 2, 3);
  CHECK(full.s.value == Approx(mean));
  CHECK(full.s.region == Approx(mean));
  CHECK(full.e.adaptive == Approx(1. / 5));
  CHECK(full.e.at[0] == Approx(6. / 5));
  CHECK(full.overlap.recall == Approx(2. / 6));
  CHECK(full.overlap.precision == 1);
}

TEST_CASE("a perfect prediction is perfect, and its opposite finds nothing") {
  Maps maps = known('A');
  maps.p.assign(maps.mask.begin(), maps.mask.end());
  const SaliencyMeasures perfect = measured(maps, 8, 10);
  CHECK(perfect.mae == 0);
  CHECK(perfect.s.value == Approx(1));
  CHECK(perfect.weighted_f == Approx(1));
  CHECK(perfect.f.adaptive == Approx(1));
  CHECK(perfect.overlap.dice == 1);
  for (double& p : maps.p)
    p = 1 - p;
  const SaliencyMeasures opposite = measured(maps, 8, 10);
  CHECK(opposite.mae == 1);
  CHECK(opposite.s.value < .1);
  CHECK(opposite.weighted_f < .1);
  CHECK(opposite.overlap.iou == 0);
}

TEST_CASE("a prediction of one value stays it, and has no structure, whatever its rounding") {
  Maps maps = known('A');
  maps.p.assign(80, .3);  // whose mean is not .3 in double
  const SaliencyPair pair = pair_of(maps, 8, 10, SaliencyRange::min_max);
  CHECK(pair.prediction()[7] == .3);
  const SaliencyMeasures m = saliency_measures(pair);
  CHECK(m.mae == Approx((21 * .7 + 59 * .3) / 80));
  CHECK(m.s.region == 0);
  CHECK(m.e.adaptive == Approx(measured({std::vector<double>(80, 0.0), maps.mask}, 8, 10).e.at[1]));
  CHECK(m.overlap.iou == 0);
  CHECK(m.f.at[76] == Approx(m.f.at[0]));
  CHECK(m.f.at[77] == 0);
}

TEST_CASE("a constant quadrant without object is as it should be, whatever its rounding") {
  Maps maps{.p = std::vector<double>(49, .1), .mask = std::vector<std::uint8_t>(49, 0)};
  maps.mask[0] = maps.mask[1] = 1;
  maps.p[1] = .9;
  // The centre is (0, 0): three quadrants have nothing of the object and one value.
  CHECK(s_measure(pair_of(maps, 7, 7)).region > 48. / 49 - 1e-9);
}

TEST_CASE("pictures of one pixel, one row and one column have figures") {
  const SaliencyMeasures pixel = measured({.p = {.75}, .mask = {1}}, 1, 1);
  CHECK(pixel.mae == .25);
  CHECK(pixel.s.value == .75);
  CHECK(pixel.weighted_f == Approx(2 * .75 / 1.75).epsilon(1));
  CHECK(pixel.e.at[0] == std::ldexp(1.0, 52));
  CHECK(measured({.p = {.75}, .mask = {0}}, 1, 1).weighted_f == 0);
  const Maps line{.p = {.1, .7, .9, .2, .4}, .mask = {0, 1, 1, 0, 0}};
  const SaliencyMeasures row = measured(line, 1, 5);
  const SaliencyMeasures column = measured(line, 5, 1);
  CHECK(row.weighted_f == Approx(column.weighted_f));
  CHECK(row.s.value == Approx(column.s.value));
  CHECK(row.s.value > 0);
  CHECK(row.weighted_f > .5);
  CHECK(row.weighted_f < 1);
}

TEST_CASE("an object in the last column or the last row leaves quadrants without pixels out") {
  Maps maps{.p = {.1, .2, .9, .3, .1, .8, .2, .2, .7}, .mask = {0, 0, 1, 0, 0, 1, 0, 0, 1}};
  const double right = s_measure(pair_of(maps, 3, 3)).value;
  CHECK(right > .5);
  CHECK(right <= 1);
  maps = {.p = {.1, .3, .2, .2, .1, .2, .9, .8, .7}, .mask = {0, 0, 0, 0, 0, 0, 1, 1, 1}};
  CHECK(s_measure(pair_of(maps, 3, 3)).value == Approx(right));
}

TEST_CASE("a range is brought to 0 and 1, of float as of double") {
  const std::vector<float> logits{-4, 0, 4, 2};
  const std::vector<std::uint8_t> mask{0, 0, 1, 1};
  const SaliencyPair pair(logits, mask, {2, 2}, SaliencyRange::min_max);
  CHECK(std::vector<double>(pair.prediction().begin(), pair.prediction().end()) ==
        std::vector<double>{0, .5, 1, .75});
  CHECK(pair.mean() == Approx(.5625));
  CHECK(marked_pixels(pair, .5).rest == 0);
  CHECK(marked_pixels(pair, .5, Reached::at_least).rest == 1);
  CHECK(saliency_measures(pair, {.threshold = .5, .reached = Reached::at_least}).overlap.iou ==
        Approx(2. / 3));
}

TEST_CASE("what cannot be measured is refused in words") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Maps maps{.p = {0, .5, 1, nan}, .mask = {0, 1, 1, 0}};
  CHECK(has(refusal(maps, {2, 2}), "must lie in [0, 1], got nan in row 1, column 1"));
  CHECK(has(refusal(maps, {2, 2}, SaliencyRange::min_max), "must be finite"));
  CHECK(has(refusal({.p = {0, 2}, .mask = {0, 1}}, {1, 2}), "got 2.000000 in row 0, column 1"));
  CHECK(has(refusal({.p = {7, 7}, .mask = {0, 1}}, {1, 2}, SaliencyRange::min_max), "got 7.0"));
  CHECK(has(refusal({.p = {0, 1}, .mask = {0, 255}}, {1, 2}), "0 and 1, got 255"));
  CHECK(has(refusal({.p = {0, 1}, .mask = {0, 1}}, {2, 2}), "got 2 and 2"));
  CHECK(has(refusal({}, {0, 3}), "got 0 x 3"));
  CHECK(refusal({.p = {0, 1}, .mask = {0, 1}}, {1, 2}).empty());
}

TEST_CASE("means take curves first, and are the same whoever gathered the pictures") {
  SaliencyMeans one;
  std::vector<SaliencyMeasures> measures;
  for (int i = 0; i < 60; ++i) {
    measures.push_back(saliency_measures(test::saliency_case(i)));
    one.add(i, measures.back());
  }
  std::vector<SaliencyMeans> parts(7);
  std::vector<std::thread> threads;
  for (int part = 0; part < 7; ++part) {
    threads.emplace_back([&, part] {
      for (int i = 59 - part; i >= 0; i -= 7)
        parts[static_cast<std::size_t>(part)].add(i, measures[static_cast<std::size_t>(i)]);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  SaliencyMeans together;
  for (const SaliencyMeans& part : parts)
    together.add(part);
  const SaliencyFigures a = one.figures();
  const SaliencyFigures b = together.figures();
  CHECK(b.pictures == 60);
  CHECK(a.mae == b.mae);
  CHECK(a.s_measure == b.s_measure);
  CHECK(a.e_mean == b.e_mean);
  CHECK(a.e_max == b.e_max);
  CHECK(a.e_adaptive == b.e_adaptive);
  CHECK(a.f_mean == b.f_mean);
  CHECK(a.f_max == b.f_max);
  CHECK(a.weighted_f == b.weighted_f);
  CHECK(a.iou == b.iou);
  CHECK(a.dice == b.dice);
  // The largest of a mean curve is below the mean of the curves' largest values.
  double largest = 0;
  double iou = 0;
  for (const SaliencyMeasures& m : measures) {
    largest += figures(m)[6] / 60;
    iou += m.overlap.iou / 60;
  }
  CHECK(a.f_max < largest - .01);
  CHECK(a.iou == Approx(iou));
  CHECK_THROWS_AS(together.add(parts[0]), headrace::DataError);
  CHECK_THROWS_AS(one.add(7, measures[7]), headrace::DataError);
  CHECK(std::isnan(SaliencyMeans().figures().mae));
}
