#include <headrace/augment/degrade.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/tests/augment/pixels.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

template <class Op>
Pixels drawn(const Op& op, const Pixels& pixels, int side, std::int64_t position,
             std::uint64_t seed = 1) {
  Sample sample = test::sample_of(pixels, side, side, 3);
  Random random(RandomKey{.seed = seed, .position = position});
  op(sample, random);
  return test::pixels_of(sample);
}

Pixels smeared(const Pixels& pixels, int height, int width, int channels, int length,
               double angle) {
  Sample sample = test::sample_of(pixels, height, width, channels);
  MotionBlur{}.blur(sample, length, angle);
  return test::pixels_of(sample);
}

// Place after place, each between its four pixels, in double.
Pixels smeared_by_loops(const Pixels& pixels, int height, int width, int channels, int length,
                        double angle) {
  const auto inside = [](int i, int size) {
    const int from = std::abs(i);
    return from < size ? from : 2 * (size - 1) - from;
  };
  const auto at = [&](int y, int x, int c) -> double {
    const int i = (inside(y, height) * width + inside(x, width)) * channels + c;
    return pixels[static_cast<std::size_t>(i)];
  };
  const double turn = angle / 180 * std::numbers::pi;
  Pixels made;
  for (int i = 0; i < height * width * channels; ++i) {
    const int c = i % channels;
    double sum = 0;
    for (int k = 0; k < length; ++k) {
      const double along = k - (length - 1) / 2.0;
      const double x = i / channels % width + along * std::cos(turn);
      const double y = i / channels / width + along * std::sin(turn);
      const int left = static_cast<int>(std::floor(x));
      const int top = static_cast<int>(std::floor(y));
      const double u = x - left;
      const double v = y - top;
      sum += (1 - v) * ((1 - u) * at(top, left, c) + u * at(top, left + 1, c)) +
             v * ((1 - u) * at(top + 1, left, c) + u * at(top + 1, left + 1, c));
    }
    made.push_back(static_cast<std::uint8_t>(std::lround(sum / length)));
  }
  return made;
}

/// What a picture has become.
enum class Done { nothing, noise, blur, motion };

// Of parts that change, of a white picture with a black middle, most pixels, 9, or fewer.
Degrade telling() {
  return {.noise = {.sigma = {20, 20}},
          .blur = {.height = 3, .width = 3, .sigma = {2, 2}},
          .motion = {.length = {2, 2}}};
}

Done done(const Degrade& op, std::int64_t position) {
  constexpr int side = 9;
  Pixels white(side * side * 3, 255);
  for (std::size_t c = 0; c < 3; ++c)
    white[(4 * side + 4) * 3 + c] = 0;
  const Pixels got = drawn(op, white, side, position, 9);
  if (got == white) return Done::nothing;
  int changed = 0;
  for (std::size_t i = 0; i < got.size(); i += 3)
    changed += got[i] != 255 ? 1 : 0;
  if (changed > 9) return Done::noise;
  return changed == 9 ? Done::blur : Done::motion;
}

}  // namespace

TEST_CASE("noise has its mean and deviation on every channel, also between two values") {
  const Pixels grey(300 * 300 * 3, 128);
  const Pixels got = drawn(GaussianNoise{.sigma = {9, 9}}, grey, 300, 0);
  double sums[3] = {};
  double squares[3] = {};
  double products = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = got[i] - 128.0;
    sums[i % 3] += off;
    squares[i % 3] += off * off;
    if (i % 2 == 1) products += off * (got[i - 1] - 128.0);
  }
  for (int c = 0; c < 3; ++c) {
    CHECK(std::abs(sums[c] / 90000) < 0.15);
    CHECK(std::sqrt(squares[c] / 90000) == doctest::Approx(9).epsilon(0.01));
  }
  CHECK(std::abs(products / 135000) < 1.0);  // of 81
  const Pixels black(16 * 16 * 3, 0);
  for (const std::uint8_t level : drawn(GaussianNoise{.sigma = {40, 40}}, black, 16, 1))
    CHECK(level < 160);
}

TEST_CASE("a motion blur is the mean along its line, within a level, the border included") {
  const Pixels colours = test::noise(13, 9, 3);
  for (const int length : {2, 3, 6, 7, 15}) {
    for (const double angle : {0.0, 30.0, 45.0, 90.0, 117.3, 179.0}) {
      CAPTURE(length);
      CAPTURE(angle);
      CHECK(test::most_apart(smeared(colours, 9, 13, 3, length, angle),
                             smeared_by_loops(colours, 9, 13, 3, length, angle)) <= 1);
    }
  }
  CHECK(smeared({0, 0, 90, 0, 0, 0}, 1, 6, 1, 1, 77) == Pixels{0, 0, 90, 0, 0, 0});
  CHECK(smeared({9, 9, 90, 9, 9, 0, 0, 0, 0, 0}, 2, 5, 1, 3, 0) ==
        Pixels{9, 36, 36, 36, 9, 0, 0, 0, 0, 0});
}

TEST_CASE("a motion blur keeps what is flat, to the last level") {
  for (const int level : {0, 1, 127, 254, 255}) {
    const Pixels flat(40 * 50 * 3, static_cast<std::uint8_t>(level));
    for (const int length : {1, 4, 31, 63})
      CHECK(smeared(flat, 40, 50, 3, length, 33) == flat);
  }
}

TEST_CASE("noise and motion depend on their key alone and come as often as p says") {
  const Pixels colours = test::noise(20, 20, 3);
  const auto count = [&](auto op) {
    op.p = 0.3;
    int changed = 0;
    for (int i = 0; i < 1000; ++i) {
      const Pixels got = drawn(op, colours, 20, i);
      REQUIRE(got == drawn(op, colours, 20, i));
      changed += got != colours ? 1 : 0;
    }
    return changed;
  };
  for (const int changed : {count(GaussianNoise{}), count(MotionBlur{})}) {
    CHECK(changed > 240);
    CHECK(changed < 360);
  }
  CHECK(drawn(GaussianNoise{}, colours, 20, 0) != drawn(GaussianNoise{}, colours, 20, 0, 2));
  CHECK(drawn(MotionBlur{}, colours, 20, 0) != drawn(MotionBlur{}, colours, 20, 0, 2));
}

TEST_CASE("one of the three ways to degrade is drawn, each by its weight") {
  const auto counts = [](const Degrade& op) {
    std::array<int, 4> all{};
    for (int i = 0; i < 3000; ++i)
      ++all[static_cast<std::size_t>(done(op, i))];
    return all;
  };
  const auto [none, noise, blur, motion] = counts(telling());
  CHECK(std::abs(none - 2100) < 130);
  for (const int each : {noise, blur, motion})
    CHECK(std::abs(each - 300) < 85);
  Degrade uneven = telling();
  uneven.p = 1;
  uneven.blur_weight = 0;
  uneven.motion_weight = 3;
  const auto [never, some, no, most] = counts(uneven);
  CHECK(never == 0);
  CHECK(no == 0);
  CHECK(std::abs(some - 750) < 120);
  CHECK(std::abs(most - 2250) < 120);
}

TEST_CASE("what degrades by nothing gives the picture bit for bit, and masks stay as they are") {
  const Pixels colours = test::noise(20, 20, 3);
  const Degrade none{.p = 1,
                     .noise = {.sigma = {0, 0}},
                     .blur = {.height = 1, .width = 1},
                     .motion = {.length = {1, 1}}};
  const Pixels labels = test::noise(20, 20, 1);
  for (int i = 0; i < 50; ++i) {
    REQUIRE(drawn(none, colours, 20, i) == colours);
    Sample sample = test::sample_of(colours, 20, 20, 3);
    sample.set("mask", Tensor::of(std::span<const std::uint8_t>(labels), Shape{20, 20}));
    Random random(RandomKey{.position = i});
    Degrade{.p = 1}(sample, random);
    const auto mask = sample["mask"].values<std::uint8_t>();
    REQUIRE(Pixels(mask.begin(), mask.end()) == labels);
    REQUIRE(test::pixels_of(sample) != colours);
  }
}

TEST_CASE("operations that degrade refuse what cannot be right") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(GaussianNoise{}.schema(in) == in);
  CHECK(MotionBlur{}.schema(in) == in);
  CHECK(Degrade{}.schema(in) == in);
  CHECK_THROWS_AS((GaussianNoise{.sigma = {-1, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianNoise{.sigma = {2, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianNoise{.p = 2}.schema(in)), ConfigError);
  CHECK_THROWS_AS((GaussianNoise{.field = "label"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((MotionBlur{.length = {0, 3}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((MotionBlur{.length = {3, 64}}.schema(in)), ConfigError);
  CHECK_THROWS_WITH_AS((MotionBlur{.length = {3, 16}}.schema(in)),
                       "[motion blur] half the length must be less than the picture's sides, got "
                       "16 for image: uint8 [8, 9, 3]; take a shorter one",
                       ConfigError);
  CHECK_THROWS_AS((MotionBlur{.p = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS(smeared(test::noise(4, 4, 1), 4, 4, 1, 8, 0), DataError);
  CHECK_THROWS_AS((Degrade{.noise_weight = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Degrade{.noise_weight = 0, .blur_weight = 0, .motion_weight = 0}.schema(in)),
                  ConfigError);
  const MotionBlur wrong{.length = {5, 2}};
  CHECK_THROWS_AS((Degrade{.motion = wrong}.schema(in)), ConfigError);
  CHECK((Degrade{.motion_weight = 0, .motion = wrong}.schema(in)) == in);
}
