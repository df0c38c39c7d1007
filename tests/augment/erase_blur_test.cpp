#include <headrace/augment/detail/blur.h>
#include <headrace/augment/detail/normal_quantiles.h>
#include <headrace/augment/gaussian_blur.h>
#include <headrace/augment/random_erasing.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

#include "torchvision_values.inc"

Pixels blurred(const GaussianBlur& op, double deviation, const Pixels& pixels, int height,
               int width, int channels) {
  Sample sample = test::sample_of(pixels, height, width, channels);
  op.blur(sample, deviation);
  return test::pixels_of(sample);
}

}  // namespace

TEST_CASE("a blur is within one level of torchvision's, the reflected border included") {
  const Pixels colours = test::noise(13, 9, 3);
  const auto by = [&](int height, int width, double deviation) {
    return blurred({.height = height, .width = width}, deviation, colours, 9, 13, 3);
  };
  CHECK(test::most_apart(by(3, 5, 1.3), blur_5_3) <= 1);
  CHECK(test::most_apart(by(7, 7, 0.5), blur_7_7) <= 1);
  CHECK(test::most_apart(by(13, 17, 4.0), blur_13_17) <= 1);
  CHECK(by(1, 1, 1.0) == colours);
}

TEST_CASE("a blur keeps what is flat, to the last level") {
  for (int level : {0, 1, 127, 254, 255}) {
    const Pixels flat(40 * 50 * 3, static_cast<std::uint8_t>(level));
    for (double deviation : {0.1, 2.0, 9.0})
      CHECK(blurred({.height = 31, .width = 9}, deviation, flat, 40, 50, 3) == flat);
  }
}

TEST_CASE("every vector width blurs to the same bytes") {
  std::uint16_t weights[9] = {1000, 5000, 9000, 11000, 13535, 11000, 9000, 5000, 1000};
  for (const auto [height, width, channels] :
       {std::array{5, 5, 1}, {7, 40, 3}, {33, 21, 4}, {6, 129, 2}}) {
    const Pixels from = test::noise(width, height, channels, 3);
    detail::BlurTask task{.picture = {from.data(), height, width, channels},
                          .row_taps = 9,
                          .row_weights = weights,
                          .column_taps = 9,
                          .column_weights = weights};
    Pixels first(from.size());
    task.out = first.data();
    REQUIRE(detail::blur(task, 0));
    Pixels other(from.size());
    task.out = other.data();
    for (int target = 1; detail::blur(task, target); ++target)
      REQUIRE(other == first);
  }
}

TEST_CASE("a blur refuses kernels that cannot be right") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(GaussianBlur{}.schema(in) == in);
  CHECK_THROWS_AS((GaussianBlur{.height = 4}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianBlur{.width = 129}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianBlur{.height = 17}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianBlur{.sigma = {0, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianBlur{.p = 2}.schema(in)), ConfigError);
  CHECK_THROWS_AS(blurred({.height = 9}, 1, test::noise(4, 4, 1), 4, 4, 1), DataError);
}

TEST_CASE("erasing writes one level a channel into the box and nothing elsewhere") {
  Sample sample = test::sample_of(test::noise(13, 9, 3), 9, 13, 3);
  Random random(RandomKey{});
  RandomErasing{.value = {10, 200, 77}}.erase(
      sample, {.top = 2, .left = 3, .height = 5, .width = 4}, random);
  CHECK(test::pixels_of(sample) == erased);
}

TEST_CASE("boxes have torchvision's areas and ratios, and lie in the picture") {
  const RandomErasing op;
  double area = 0;
  double log_ratio = 0;
  int count = 0;
  for (int i = 0; i < 4000; ++i) {
    Random random(RandomKey{.seed = 5, .position = i});
    const RandomErasing::Box box = op.draw(300, 200, random);
    REQUIRE(box.top >= 0);
    REQUIRE(box.left >= 0);
    REQUIRE(box.top + box.height <= 300);
    REQUIRE(box.left + box.width <= 200);
    if (box.height == 0) continue;
    const double share = double(box.height * box.width) / (300 * 200);
    REQUIRE(share > 0.018);  // sides are whole pixels
    REQUIRE(share < 0.335);
    area += share;
    log_ratio += std::log(double(box.height) / double(box.width));
    ++count;
  }
  CHECK(count > 3950);
  // Uniform but for the wide boxes that do not fit: a few are drawn anew.
  CHECK(area / count == doctest::Approx(0.172).epsilon(0.03));
  CHECK(std::abs(log_ratio / count) < 0.08);
}

TEST_CASE("erasing comes as often as p says, and noise has its mean and deviation") {
  const Pixels flat(60 * 60 * 3, 1);
  const RandomErasing op{.p = 0.4, .scale = {0.3, 0.33}, .ratio = {0.9, 1.1}, .noise = true};
  int erased_count = 0;
  double sum = 0;
  double squares = 0;
  std::int64_t count = 0;
  for (int i = 0; i < 400; ++i) {
    Sample sample = test::sample_of(flat, 60, 60, 3);
    Random random(RandomKey{.seed = 11, .position = i});
    op(sample, random);
    const Pixels got = test::pixels_of(sample);
    if (got == flat) continue;
    ++erased_count;
    for (std::size_t k = 1; k < got.size(); k += 3) {  // green; 1 is a rare level
      if (got[k] == 1) continue;
      sum += got[k];
      squares += double(got[k]) * got[k];
      ++count;
    }
  }
  CHECK(erased_count > 120);
  CHECK(erased_count < 200);
  const double mean = sum / static_cast<double>(count);
  const double deviation = std::sqrt(squares / static_cast<double>(count) - mean * mean);
  CHECK(mean == doctest::Approx(116.3).epsilon(0.02));
  CHECK(deviation == doctest::Approx(56.0).epsilon(0.03));  // cut at 0 and 255
}

TEST_CASE("normal quantiles are those of the normal distribution") {
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const double x = detail::normal_quantile(i << 20);
    sum += x;
    squares += x * x;
    const double middle = ((i & 2047U) + 0.5) / 4096;  // probability between 0 and |x|
    REQUIRE(0.5 * std::erf(std::abs(x) / std::sqrt(2.0)) == doctest::Approx(middle).epsilon(1e-9));
  }
  CHECK(std::abs(sum) < 1e-9);
  CHECK(squares / 4096 == doctest::Approx(1).epsilon(0.002));
}

TEST_CASE("erasing refuses what cannot be right") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(RandomErasing{}.schema(in) == in);
  CHECK_THROWS_AS((RandomErasing{.p = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandomErasing{.scale = {0.5, 0.4}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandomErasing{.ratio = {0, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandomErasing{.value = {1, 2}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandomErasing{.value = {256}}.schema(in)), ConfigError);
  Sample sample = test::sample_of(test::noise(4, 4, 1), 4, 4, 1);
  Random random(RandomKey{});
  CHECK_THROWS_AS(RandomErasing{}.erase(sample, {.top = 2, .height = 3, .width = 1}, random),
                  DataError);
}
