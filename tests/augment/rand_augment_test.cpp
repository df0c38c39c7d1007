#include <headrace/augment/rand_augment.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;
using Op = headrace::RandAugment::Op;

namespace {

#include "torchvision_values.inc"

struct Shape2 {
  int height;
  int width;
  int channels;
};

Pixels applied(const RandAugment& how, Op op, double sign, const Pixels& pixels, Shape2 of) {
  Sample sample = test::sample_of(pixels, of.height, of.width, of.channels);
  how.apply(sample, op, sign * how.strength(op, of.height, of.width));
  return test::pixels_of(sample);
}

const RandAugment nine{};
const RandAugment twenty{.magnitude = 20};
const RandAugment nineteen{.magnitude = 19};  // no place half-way between pixels

}  // namespace

TEST_CASE("what moves pixels gives torchvision's bytes") {
  const Pixels waves = test::picture(13, 11, 3);
  const Shape2 of{11, 13, 3};
  CHECK(applied(nine, Op::shear_x, -1, waves, of) == shear_x_negative);
  CHECK(applied(nineteen, Op::shear_y, 1, waves, of) == shear_y);
  CHECK(applied(nine, Op::translate_x, 1, waves, of) == translate_x);
  CHECK(applied(twenty, Op::translate_y, -1, waves, of) == translate_y_negative);
  CHECK(applied(nine, Op::rotate, 1, waves, of) == rotate_9);
  const RandAugment smooth{.interpolation = Interpolation::bilinear};
  CHECK(test::most_apart(applied(smooth, Op::shear_x, 1, waves, of), shear_x_bilinear) <= 1);
}

TEST_CASE("what changes colours gives torchvision's levels") {
  const Pixels colours = test::noise(13, 9, 3);
  const Shape2 of{9, 13, 3};
  CHECK(applied(nine, Op::brightness, 1, colours, of) == brightness_9);
  CHECK(test::most_apart(applied(nine, Op::color, -1, colours, of), color_9_negative) <= 1);
  CHECK(test::most_apart(applied(nine, Op::contrast, 1, colours, of), contrast_9) <= 1);
  CHECK(test::most_apart(applied(nine, Op::sharpness, 1, colours, of), sharpness_9) <= 1);
  CHECK(test::most_apart(applied(twenty, Op::sharpness, -1, colours, of), sharpness_20_negative) <=
        1);
  CHECK(applied(nine, Op::posterize, 1, colours, of) == posterize_9);
  CHECK(applied({.magnitude = 30}, Op::posterize, 1, colours, of) == posterize_30);
  CHECK(applied(nine, Op::solarize, 1, colours, of) == solarize_9);
  const Pixels waves = test::picture(13, 11, 3);
  CHECK(test::most_apart(applied(nine, Op::autocontrast, 1, waves, {11, 13, 3}), autocontrast_9) <=
        1);
  CHECK(applied(nine, Op::equalize, 1, test::picture(31, 27, 1), {27, 31, 1}) == equalize_9);
  CHECK(applied(nine, Op::identity, 1, colours, of) == colours);
}

TEST_CASE("flat and tiny pictures pass every operation") {
  for (int side : {1, 2, 3}) {
    for (int channels : {1, 3}) {
      const Pixels flat(static_cast<std::size_t>(side * side * channels), 77);
      for (int op = 0; op < RandAugment::op_count; ++op) {
        const Pixels got = applied(twenty, static_cast<Op>(op), -1, flat, {side, side, channels});
        CHECK(got.size() == flat.size());
      }
      CHECK(applied(nine, Op::equalize, 1, flat, {side, side, channels}) == flat);
      CHECK(applied(nine, Op::autocontrast, 1, flat, {side, side, channels}) == flat);
    }
  }
}

TEST_CASE("all operations are drawn, signs come both ways, and the key decides alone") {
  const Pixels colours = test::noise(13, 9, 3);
  const RandAugment one{.ops = 1, .magnitude = 15};
  std::set<Pixels> results;
  for (int i = 0; i < 400; ++i) {
    Pixels twice[2];
    for (Pixels& result : twice) {
      Sample sample = test::sample_of(colours, 9, 13, 3);
      Random random(RandomKey{.seed = 9, .position = i});
      one(sample, random);
      result = test::pixels_of(sample);
    }
    REQUIRE(twice[0] == twice[1]);
    results.insert(twice[0]);
  }
  // 1 identity, 9 with a sign, 4 without; autocontrast of all levels is the identity, too.
  CHECK(results.size() == 22);
}

TEST_CASE("masks follow what moves pixels and stay under what changes colours") {
  const Pixels labels = test::noise(13, 11, 1, 5);
  RandAugment how{.magnitude = 20, .masks = {"mask"}, .mask_fill = 9};
  for (const Op op : {Op::translate_x, Op::rotate, Op::shear_y, Op::solarize, Op::equalize}) {
    Sample sample = test::sample_of(labels, 11, 13, 1);
    sample.set("mask", Tensor::of(std::span<const std::uint8_t>(labels), Shape{11, 13}));
    how.fill = 9;
    how.apply(sample, op, how.strength(op, 11, 13));
    const auto mask = sample["mask"].values<std::uint8_t>();
    const Pixels moved(mask.begin(), mask.end());
    const bool moves = op != Op::solarize && op != Op::equalize;
    CHECK(moved == (moves ? test::pixels_of(sample) : labels));
  }
}

TEST_CASE("rand augment refuses what cannot be right") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(RandAugment{}.schema(in) == in);
  CHECK_THROWS_AS((RandAugment{.ops = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandAugment{.magnitude = 31}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandAugment{.bins = 1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandAugment{.masks = {"label"}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((RandAugment{}.schema(test::picture_schema(8, 9, 6))), ConfigError);
}
