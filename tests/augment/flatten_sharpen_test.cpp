#include <headrace/augment/flatten_sharpen.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

#include "reference/flatten_sharpen_reference.inc"

Pixels made(const FlattenSharpen& op, const Pixels& pixels, int height, int width, int channels) {
  Sample sample = test::sample_of(pixels, height, width, channels);
  op(sample);
  return test::pixels_of(sample);
}

/// The first step alone.
FlattenSharpen flatten(int block) {
  return {.block = block, .brightness = 0, .contrast = 1.0, .sharpness = 0.0};
}

}  // namespace

TEST_CASE("a flattened and sharpened picture has NumPy's bytes") {
  CHECK(made({}, test::picture(47, 46, 1), 46, 47, 1) == grey_30);
  const Pixels waves = test::picture(37, 26, 3);
  CHECK(made({.block = 8, .brightness = -30, .contrast = 1.25, .sharpness = 0.3125}, waves, 26, 37,
             3) == waves_8);
  CHECK(made({.block = 5, .brightness = 0, .contrast = 0.5, .sharpness = 2.0},
             test::noise(13, 9, 1), 9, 13, 1) == grey_5);
  CHECK(made({.block = 2, .brightness = 5, .contrast = 1.0, .sharpness = 0.25},
             test::noise(3, 2, 2), 2, 3, 2) == noise_2);
}

TEST_CASE("the background is within a level of what floating point makes of it") {
  CHECK(test::most_apart(made(flatten(8), test::picture(37, 26, 3), 26, 37, 3), waves_8_exact) <=
        1);
}

TEST_CASE("a slope of the light goes and what is on it stays") {
  Pixels slope;
  for (int y = 0; y < 90; ++y)
    for (int x = 0; x < 120; ++x)
      slope.push_back(static_cast<std::uint8_t>(40 + x + (x % 2 == y % 2 ? 6 : -6)));
  const Pixels flat = made(flatten(30), slope, 90, 120, 1);
  // Between the middles of the outer blocks: 128 and the pattern.
  for (int y = 0; y < 90; ++y)
    for (int x = 15; x < 105; ++x) {
      const int level = flat[static_cast<std::size_t>(y * 120 + x)];
      REQUIRE(std::abs(level - (x % 2 == y % 2 ? 134 : 122)) <= 1);
    }
}

TEST_CASE("a picture of one level becomes grey, whatever it was, then bright by contrast") {
  for (int level : {0, 1, 200, 255}) {
    const Pixels plain(40 * 50 * 3, static_cast<std::uint8_t>(level));
    CHECK(made(flatten(30), plain, 40, 50, 3) == Pixels(plain.size(), 128));
    CHECK(made({}, plain, 40, 50, 3) == Pixels(plain.size(), 128 + 2 * 20));
  }
}

TEST_CASE("flattening and sharpening refuse what cannot be right") {
  const Schema in = test::picture_schema(64, 60, 3);
  CHECK(FlattenSharpen{}.schema(in) == in);
  CHECK(FlattenSharpen{}.working_bytes(in) >= 64 * 60 * 3);
  CHECK_THROWS_AS((FlattenSharpen{.block = 1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((FlattenSharpen{.block = 5000}.schema(in)), ConfigError);
  CHECK_THROWS_AS((FlattenSharpen{.brightness = 256}.schema(in)), ConfigError);
  CHECK_THROWS_AS((FlattenSharpen{.contrast = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((FlattenSharpen{.sharpness = 17}.schema(in)), ConfigError);
  CHECK_THROWS_AS((FlattenSharpen{}.schema(test::picture_schema(1, 64, 3))), ConfigError);
  CHECK_THROWS_AS(made({}, test::noise(5, 1, 1), 1, 5, 1), DataError);
}
