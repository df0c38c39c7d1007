#include <headrace/augment/color_jitter.h>
#include <headrace/augment/detail/colour.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>

#include <cstdint>
#include <functional>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

#include "torchvision_values.inc"

using Factors = ColorJitter::Factors;
using Step = ColorJitter::Step;

Pixels adjusted(const Pixels& pixels, int height, int width, int channels, const Factors& factors) {
  Sample sample = test::sample_of(pixels, height, width, channels);
  ColorJitter{}.adjust(sample, factors);
  return test::pixels_of(sample);
}

Pixels jittered_by(const ColorJitter& op, const Pixels& pixels, std::int64_t position,
                   std::uint64_t seed = 1) {
  Sample sample = test::sample_of(pixels, 9, 13, 3);
  Random random(RandomKey{.seed = seed, .position = position});
  op(sample, random);
  return test::pixels_of(sample);
}

}  // namespace

TEST_CASE("brightness, contrast, saturation and hue give torchvision's levels") {
  const Pixels colours = test::noise(13, 9, 3);
  const Pixels grey = test::noise(13, 9, 1);
  const Pixels waves = test::picture(13, 11, 3);
  CHECK(adjusted(colours, 9, 13, 3, {.brightness = 1.37}) == brighter);
  CHECK(adjusted(grey, 9, 13, 1, {.brightness = 0.4}) == darker);
  CHECK(test::most_apart(adjusted(colours, 9, 13, 3, {.contrast = 1.6}), more_contrast) <= 1);
  CHECK(test::most_apart(adjusted(grey, 9, 13, 1, {.contrast = 0.3}), less_contrast) <= 1);
  CHECK(test::most_apart(adjusted(colours, 9, 13, 3, {.saturation = 1.8}), more_saturation) <= 1);
  CHECK(test::most_apart(adjusted(colours, 9, 13, 3, {.saturation = 0.25}), less_saturation) <= 1);
  CHECK(test::most_apart(adjusted(colours, 9, 13, 3, {.hue = 0.18}), hue_forward) <= 1);
  CHECK(test::most_apart(adjusted(waves, 11, 13, 3, {.hue = -0.4}), hue_back) <= 1);
}

TEST_CASE("the steps of a jitter follow each other in the order that was drawn") {
  const Factors factors{.order = {Step::hue, Step::contrast, Step::saturation, Step::brightness},
                        .brightness = 1.2,
                        .contrast = 0.8,
                        .saturation = 1.3,
                        .hue = 0.1};
  const Pixels waves = test::picture(13, 11, 3);
  // Each step may be one level off, and the next three stretch it.
  CHECK(test::most_apart(adjusted(waves, 11, 13, 3, factors), jittered) <= 3);
  Factors other = factors;
  std::swap(other.order[0], other.order[3]);
  CHECK(test::most_apart(adjusted(waves, 11, 13, 3, other), jittered) > 3);
}

TEST_CASE("grey pictures keep their levels under saturation and hue") {
  const Pixels grey = test::noise(13, 9, 1);
  CHECK(adjusted(grey, 9, 13, 1, {.saturation = 1.9, .hue = 0.3}) == grey);
}

TEST_CASE("a jitter depends on its key alone, and no range at all changes nothing") {
  const Pixels colours = test::noise(13, 9, 3);
  const ColorJitter op = ColorJitter::by(0.4, 0.4, 0.4, 0.1);
  CHECK(op.brightness == ColorJitter::Range{0.6, 1.4});
  CHECK(op.hue == ColorJitter::Range{-0.1, 0.1});
  int changed = 0;
  int reseeded = 0;
  for (int i = 0; i < 50; ++i) {
    const Pixels once = jittered_by(op, colours, i);
    REQUIRE(once == jittered_by(op, colours, i));
    changed += once != colours ? 1 : 0;
    reseeded += once != jittered_by(op, colours, i, 2) ? 1 : 0;
  }
  CHECK(changed == 50);
  CHECK(reseeded == 50);
  CHECK(jittered_by(ColorJitter{}, colours, 0) == colours);
}

TEST_CASE("a jitter comes as often as its p says") {
  const Pixels colours = test::noise(13, 9, 3);
  ColorJitter op = ColorJitter::by(0.4, 0.4, 0.4, 0.1);
  op.p = 0.3;
  int changed = 0;
  for (int i = 0; i < 1000; ++i)
    changed += jittered_by(op, colours, i) != colours ? 1 : 0;
  CHECK(changed > 240);
  CHECK(changed < 360);
}

TEST_CASE("colour jitter refuses what cannot be right") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(ColorJitter::by(0.1, 0.1, 0.1, 0.1).schema(in) == in);
  CHECK_THROWS_AS((ColorJitter{.brightness = {-0.1, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((ColorJitter{.contrast = {1.2, 1.1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((ColorJitter{.hue = {-0.6, 0}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((ColorJitter{}.schema(test::picture_schema(8, 9, 4))), ConfigError);
  CHECK_THROWS_AS((ColorJitter{.p = 1.1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((ColorJitter{.field = "label"}.schema(in)), ConfigError);
  Sample four = test::sample_of(test::noise(3, 2, 4), 2, 3, 4);
  CHECK_THROWS_AS(ColorJitter{}.adjust(four, {.hue = 0.1}), DataError);
}

TEST_CASE("every vector width computes the same colours") {
  for (int pixels : {1, 5, 31, 256, 300, 1031}) {
    const Pixels from = test::noise(pixels, 1, 3, 7);
    using Kernel = std::function<bool(Pixels & to, int target)>;
    const Kernel kernels[] = {
        [&](Pixels& to, int target) {
          return detail::scale_levels(from.data(), to.data(), 3 * pixels, 1.7F, -31.5F, target);
        },
        [&](Pixels& to, int target) {
          return detail::saturate(from.data(), to.data(), pixels, 1.83, target);
        },
        [&](Pixels& to, int target) {
          return detail::turn_hue(from.data(), to.data(), pixels, -0.27F, target);
        },
        [&](Pixels& to, int target) {
          const std::int64_t sum = detail::sum_grey(from.data(), pixels, target);
          for (std::size_t i = 0; i < to.size() && i < 8; ++i)
            to[i] = static_cast<std::uint8_t>(sum >> (8 * i));
          return sum > 0;
        }};
    for (const Kernel& kernel : kernels) {
      Pixels first(from.size());
      REQUIRE(kernel(first, 0));
      Pixels other(from.size());
      for (int target = 1; kernel(other, target); ++target)
        REQUIRE(other == first);
    }
  }
}

TEST_CASE("colours change in place as they do from one memory to another") {
  const Pixels from = test::noise(77, 5, 3, 3);
  Pixels apart(from.size());
  Pixels within = from;
  detail::saturate(from.data(), apart.data(), 77 * 5, 0.4);
  detail::saturate(within.data(), within.data(), 77 * 5, 0.4);
  CHECK(apart == within);
  detail::turn_hue(apart.data(), apart.data(), 77 * 5, 0.2F);
  detail::turn_hue(within.data(), within.data(), 77 * 5, 0.2F);
  CHECK(apart == within);
}
