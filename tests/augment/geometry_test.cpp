#include <headrace/augment/affine.h>
#include <headrace/augment/center_crop.h>
#include <headrace/augment/detail/mirror.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/rotate.h>
#include <headrace/augment/rotate90.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

#include "torchvision_values.inc"

// Half-way places aside (torchvision's float32 takes either neighbour there), made with torchvision
// 0.26.0 (transforms.v2.functional on a uint8 tensor) from picture(9, 7, 3): rotate(p, 25.0) and
// rotate(p, -75.0, interpolation=BILINEAR, fill=[10.0]).
const Pixels turned_nearest = {
    0,   0,   0,   0,   0,   0,   0,   0,   0,   107, 109, 117, 106, 126, 136, 128, 132, 141, 134,
    139, 158, 105, 102, 76,  0,   0,   0,   0,   0,   0,   93,  101, 97,  95,  110, 108, 110, 127,
    119, 113, 125, 130, 131, 144, 157, 118, 99,  88,  105, 102, 76,  93,  83,  78,  79,  82,  95,
    105, 100, 112, 108, 114, 108, 121, 129, 133, 121, 129, 133, 142, 141, 142, 107, 95,  104, 101,
    87,  83,  81,  72,  66,  97,  85,  90,  100, 96,  100, 105, 118, 116, 120, 131, 122, 129, 133,
    140, 142, 141, 142, 103, 90,  96,  91,  84,  88,  80,  74,  68,  104, 88,  97,  112, 108, 104,
    125, 126, 112, 120, 131, 122, 145, 147, 143, 145, 147, 143, 92,  94,  102, 95,  86,  87,  73,
    74,  67,  104, 99,  94,  120, 114, 100, 126, 117, 112, 130, 133, 131, 140, 146, 146, 103, 98,
    97,  90,  88,  95,  78,  82,  73,  0,   0,   0,   0,   0,   0,   120, 114, 100, 143, 120, 117,
    136, 128, 134, 90,  101, 116, 94,  96,  91,  0,   0,   0,   0,   0,   0,   0,   0,   0};
const Pixels turned_bilinear = {
    116, 114, 102, 134, 123, 110, 126, 116, 108, 113, 108, 104, 103, 101, 102, 97,  100, 105, 91,
    95,  100, 16,  17,  17,  10,  10,  10,  67,  63,  57,  144, 129, 123, 133, 125, 124, 126, 126,
    118, 115, 122, 115, 109, 112, 114, 101, 107, 107, 37,  41,  40,  10,  10,  10,  29,  28,  26,
    134, 130, 130, 137, 135, 138, 132, 130, 130, 121, 129, 122, 119, 123, 121, 108, 119, 114, 76,
    79,  84,  10,  10,  10,  10,  11,  11,  95,  103, 113, 123, 124, 124, 143, 142, 141, 129, 133,
    140, 124, 131, 137, 113, 126, 126, 107, 123, 131, 11,  11,  11,  10,  10,  10,  68,  69,  67,
    97,  95,  98,  109, 112, 114, 131, 132, 133, 132, 136, 145, 124, 132, 141, 119, 130, 141, 25,
    27,  29,  10,  10,  10,  34,  34,  35,  90,  88,  91,  98,  92,  96,  106, 94,  101, 116, 112,
    120, 127, 128, 135, 130, 138, 150, 58,  64,  66,  10,  10,  10,  15,  15,  14,  81,  81,  73,
    93,  86,  79,  94,  85,  88,  103, 89,  83,  114, 104, 90,  119, 115, 114, 106, 117, 137};

Pixels turned(const Rotate& op, double angle, const Pixels& pixels, int height, int width,
              int channels) {
  Sample sample = test::sample_of(pixels, height, width, channels);
  op.turn(sample, angle);
  return test::pixels_of(sample);
}

}  // namespace

TEST_CASE("a flip exchanges left and right of every channel") {
  Random random(RandomKey{});
  Sample grey = test::sample_of({1, 2, 3, 4, 5, 6}, 2, 3, 1);
  HorizontalFlip{.p = 1.0}(grey, random);
  CHECK(test::pixels_of(grey) == Pixels{3, 2, 1, 6, 5, 4});
  Sample colour = test::sample_of({1, 2, 3, 4, 5, 6}, 1, 2, 3);
  HorizontalFlip{.p = 1.0}(colour, random);
  CHECK(test::pixels_of(colour) == Pixels{4, 5, 6, 1, 2, 3});
  Sample six = test::sample_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1, 2, 6);
  HorizontalFlip{.p = 1.0}(six, random);
  CHECK(test::pixels_of(six) == Pixels{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("flips come as often as p says and depend on the key alone") {
  const Pixels pixels = test::picture(4, 2, 3);
  int flipped = 0;
  for (int i = 0; i < 1000; ++i) {
    Pixels results[2];
    for (Pixels& result : results) {
      Sample sample = test::sample_of(pixels, 2, 4, 3);
      Random random(RandomKey{.seed = 3, .position = i});
      HorizontalFlip{.p = 0.3}(sample, random);
      result = test::pixels_of(sample);
    }
    REQUIRE(results[0] == results[1]);
    flipped += results[0] != pixels ? 1 : 0;
  }
  CHECK(flipped > 240);
  CHECK(flipped < 360);
}

TEST_CASE("rotation by nearest pixels gives torchvision's bytes") {
  const Pixels pixels = test::picture(9, 7, 3);
  CHECK(turned({}, 25.0, pixels, 7, 9, 3) == turned_nearest);
}

TEST_CASE("bilinear rotation is within one level of torchvision's, the border included") {
  const Rotate op{.interpolation = Rotate::Interpolation::bilinear, .fill = 10};
  const Pixels got = turned(op, -75.0, test::picture(9, 7, 3), 7, 9, 3);
  REQUIRE(got.size() == turned_bilinear.size());
  int most = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    most = std::max(most, std::abs(got[i] - turned_bilinear[i]));
  CHECK(most <= 1);
}

TEST_CASE("quarter turns are exact and counter-clockwise") {
  const Pixels square = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (auto how : {Rotate::Interpolation::nearest, Rotate::Interpolation::bilinear}) {
    const Rotate op{.interpolation = how};
    CHECK(turned(op, 90, square, 3, 3, 1) == Pixels{3, 6, 9, 2, 5, 8, 1, 4, 7});
    CHECK(turned(op, 180, square, 3, 3, 1) == Pixels{9, 8, 7, 6, 5, 4, 3, 2, 1});
    CHECK(turned(op, -90, square, 3, 3, 1) == Pixels{7, 4, 1, 8, 5, 2, 9, 6, 3});
    CHECK(turned(op, 360, square, 3, 3, 1) == square);
    CHECK(turned(op, 0, square, 3, 3, 1) == square);
  }
  const Pixels six = test::picture(5, 5, 6);
  CHECK(turned({}, 180, turned({}, 180, six, 5, 5, 6), 5, 5, 6) == six);
}

TEST_CASE("turns by 90 degrees move every pixel whole, whatever its bytes") {
  const Pixels square = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const int channels : {1, 2, 3, 4, 5}) {
    const auto wide = [channels](const Pixels& pixels) {
      Pixels all;
      for (const std::uint8_t level : pixels)
        for (int c = 0; c < channels; ++c)
          all.push_back(static_cast<std::uint8_t>(10 * c + level));
      return all;
    };
    const auto by = [&](int quarters) {
      Sample sample = test::sample_of(wide(square), 3, 3, channels);
      Rotate90{}.turn(sample, quarters);
      return test::pixels_of(sample);
    };
    CHECK(by(0) == wide(square));
    CHECK(by(1) == wide({3, 6, 9, 2, 5, 8, 1, 4, 7}));
    CHECK(by(2) == wide({9, 8, 7, 6, 5, 4, 3, 2, 1}));
    CHECK(by(3) == wide({7, 4, 1, 8, 5, 2, 9, 6, 3}));
    CHECK(by(-1) == by(3));
    CHECK(by(8) == by(0));
  }
  Sample flat = test::sample_of({1, 2}, 1, 2, 1);
  CHECK_THROWS_AS(Rotate90{}.turn(flat, 2), DataError);
}

TEST_CASE("turns by 90 degrees come as often as p says, each of the three as often") {
  const Pixels square = {1, 2, 3, 4};
  std::map<Pixels, int> seen;
  for (int i = 0; i < 3000; ++i) {
    Sample sample = test::sample_of(square, 2, 2, 1);
    Random random(RandomKey{.seed = 5, .position = i});
    Rotate90{.p = 0.3}(sample, random);
    ++seen[test::pixels_of(sample)];
  }
  CHECK(seen.size() == 4);
  CHECK(std::abs(seen[square] - 2100) < 130);
  for (const Pixels& turned : {Pixels{2, 4, 1, 3}, {4, 3, 2, 1}, {3, 1, 4, 2}})
    CHECK(std::abs(seen[turned] - 300) < 85);
}

TEST_CASE("angles are drawn from the whole range, and a range of zero changes nothing") {
  const Pixels pixels = test::picture(9, 9, 1);
  int changed = 0;
  for (int i = 0; i < 50; ++i) {
    Random random(RandomKey{.position = i});
    Sample sample = test::sample_of(pixels, 9, 9, 1);
    Rotate{.degrees = 180}(sample, random);
    changed += test::pixels_of(sample) != pixels ? 1 : 0;
    Sample still = test::sample_of(pixels, 9, 9, 1);
    Rotate{.degrees = 0}(still, random);
    REQUIRE(test::pixels_of(still) == pixels);
  }
  CHECK(changed > 40);
}

TEST_CASE("a centre crop takes the middle, odd margins half to even") {
  const Pixels row = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto cropped = [&](int size, int width) {
    Sample sample = test::sample_of({row.begin(), row.begin() + size}, 1, size, 1);
    CenterCrop{.height = 1, .width = width}(sample);
    return test::pixels_of(sample);
  };
  CHECK(cropped(8, 4) == Pixels{2, 3, 4, 5});
  CHECK(cropped(8, 7) == Pixels{0, 1, 2, 3, 4, 5, 6});  // margin .5 becomes 0
  CHECK(cropped(8, 5) == Pixels{2, 3, 4, 5, 6});        // margin 1.5 becomes 2
  CHECK(cropped(8, 8) == row);
  Sample small = test::sample_of(row, 1, 8, 1);
  CHECK_THROWS_AS((CenterCrop{.height = 2, .width = 2}(small)), DataError);
}

TEST_CASE("a vertical flip exchanges top and bottom") {
  Random random(RandomKey{});
  Sample sample = test::sample_of({1, 2, 3, 4, 5, 6}, 3, 2, 1);
  VerticalFlip{.p = 1.0}(sample, random);
  CHECK(test::pixels_of(sample) == Pixels{5, 6, 3, 4, 1, 2});
  VerticalFlip{.p = 0.0}(sample, random);
  CHECK(test::pixels_of(sample) == Pixels{5, 6, 3, 4, 1, 2});
}

TEST_CASE("every vector width mirrors rows alike, whatever a pixel's bytes") {
  for (const int bytes : {1, 2, 3, 4, 5, 6}) {
    for (const int width : {1, 2, 3, 5, 6, 7, 15, 16, 17, 31, 33, 64, 101}) {
      const Pixels from = test::noise(width, 3, bytes);
      Pixels wanted(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        const auto b = static_cast<std::size_t>(bytes);
        const auto w = static_cast<std::size_t>(width);
        const std::size_t x = i / b % w;
        wanted[i / b / w * w * b + (w - 1 - x) * b + i % b] = from[i];
      }
      Pixels got(from.size() + 16, 99);  // nothing is written behind the last row
      for (int target = 0; detail::mirror_rows(from.data(), got.data(), 3, width, bytes, target);
           ++target) {
        REQUIRE(Pixels(got.begin(), got.end() - 16) == wanted);
        REQUIRE(Pixels(got.end() - 16, got.end()) == Pixels(16, 99));
        std::fill(got.begin(), got.end() - 16, std::uint8_t{0});
      }
    }
  }
}

TEST_CASE("an affine transform gives torchvision's bytes, bilinear within one level") {
  const Pixels waves = test::picture(13, 11, 3);
  Sample sample = test::sample_of(waves, 11, 13, 3);
  Affine{}.apply(
      sample, {.angle = 17, .move_x = 2, .move_y = -1, .scale = 1.2, .shear_x = 8, .shear_y = -5});
  CHECK(test::pixels_of(sample) == affine_nearest);
  sample = test::sample_of(waves, 11, 13, 3);
  Affine{.interpolation = Interpolation::bilinear, .fill = 50}.apply(
      sample,
      {.angle = -31, .move_x = -1, .move_y = 2, .scale = 0.7, .shear_x = -12, .shear_y = 6});
  CHECK(test::most_apart(test::pixels_of(sample), affine_bilinear) <= 1);
}

TEST_CASE("a mask of either width goes along by nearest pixels, whatever the picture's way") {
  const Pixels labels = [] {
    Pixels mask = test::noise(13, 11, 1, 5);
    for (std::uint8_t& label : mask)
      label /= 50;
    return mask;
  }();
  const std::vector<std::uint16_t> wide(labels.begin(), labels.end());
  Sample sample = test::sample_of(test::picture(13, 11, 3), 11, 13, 3);
  sample.set("mask", Tensor::of(std::span<const std::uint8_t>(labels), Shape{11, 13}));
  sample.set("wide", Tensor::of(std::span<const std::uint16_t>(wide), Shape{11, 13}));
  Affine{.interpolation = Interpolation::bilinear, .masks = {"mask", "wide"}, .mask_fill = 7}.apply(
      sample, {.angle = 17, .move_x = 2, .move_y = -1, .scale = 1.2, .shear_x = 8, .shear_y = -5});
  const auto mask = sample["mask"].values<std::uint8_t>();
  CHECK(Pixels(mask.begin(), mask.end()) == affine_mask);
  const auto same = sample["wide"].values<std::uint16_t>();
  CHECK(std::equal(same.begin(), same.end(), affine_mask.begin()));
}

TEST_CASE("masks are flipped, cropped and turned with their picture") {
  Random random(RandomKey{});
  const Pixels grey = test::noise(9, 9, 1);
  const std::vector<std::uint16_t> wide(grey.begin(), grey.end());
  const auto agrees = [&](const auto& op) {
    Sample sample = test::sample_of(grey, 9, 9, 1);
    sample.set("mask", Tensor::of(std::span<const std::uint8_t>(grey), Shape{9, 9}));
    sample.set("wide", Tensor::of(std::span<const std::uint16_t>(wide), Shape{9, 9}));
    op(sample);
    const Pixels moved = test::pixels_of(sample);
    const auto mask = sample["mask"].values<std::uint8_t>();
    const auto same = sample["wide"].values<std::uint16_t>();
    return moved != grey && moved == Pixels(mask.begin(), mask.end()) &&
           std::equal(same.begin(), same.end(), moved.begin(), moved.end());
  };
  const std::vector<std::string> masks = {"mask", "wide"};
  CHECK(agrees([&](Sample& s) { HorizontalFlip{.p = 1, .masks = masks}(s, random); }));
  CHECK(agrees([&](Sample& s) { VerticalFlip{.p = 1, .masks = masks}(s, random); }));
  CHECK(agrees([&](Sample& s) { CenterCrop{.height = 4, .width = 6, .masks = masks}(s); }));
  CHECK(agrees([&](Sample& s) { Rotate{.masks = masks}.turn(s, 33); }));
  CHECK(agrees([&](Sample& s) { Rotate90{.p = 1, .masks = masks}(s, random); }));
  CHECK(agrees([&](Sample& s) {
    Affine{.degrees = {20, 30}, .scale = {0.5, 0.6}, .masks = masks}(s, random);
  }));
}

TEST_CASE("drawn affine parts lie in their ranges and depend on the key alone") {
  const Affine op{
      .degrees = {-10, 10}, .translate = {0.2, 0.3}, .scale = {0.8, 1.2}, .shear_x = {-5, 5}};
  const Pixels pixels = test::picture(13, 11, 3);
  int changed = 0;
  for (int i = 0; i < 50; ++i) {
    Pixels results[2];
    for (Pixels& result : results) {
      Sample sample = test::sample_of(pixels, 11, 13, 3);
      Random random(RandomKey{.position = i});
      op(sample, random);
      result = test::pixels_of(sample);
    }
    REQUIRE(results[0] == results[1]);
    changed += results[0] != pixels ? 1 : 0;
  }
  CHECK(changed == 50);
  Sample sample = test::sample_of(pixels, 11, 13, 3);
  Random random(RandomKey{});
  Affine{}(sample, random);
  CHECK(test::pixels_of(sample) == pixels);
}

TEST_CASE("an affine transform comes as often as its p says, and with p 1 draws nothing for it") {
  const Pixels pixels = test::picture(13, 11, 3);
  const auto moved = [&](double p, std::int64_t position) {
    Sample sample = test::sample_of(pixels, 11, 13, 3);
    Random random(RandomKey{.seed = 2, .position = position});
    Affine{.degrees = {20, 40}, .p = p}(sample, random);
    return test::pixels_of(sample);
  };
  int changed = 0;
  for (int i = 0; i < 1000; ++i)
    changed += moved(0.3, i) != pixels ? 1 : 0;
  CHECK(changed > 240);
  CHECK(changed < 360);
  Sample sample = test::sample_of(pixels, 11, 13, 3);
  Random random(RandomKey{.seed = 2});
  const double angle = 20 + 20 * random.uniform();
  Affine{}.apply(sample, {.angle = angle});
  CHECK(moved(1.0, 0) == test::pixels_of(sample));
}

TEST_CASE("operations say what they make of the schema and refuse what cannot be right") {
  const Schema in = test::picture_schema(30, 40, 6);
  CHECK(HorizontalFlip{}.schema(in) == in);
  CHECK(Rotate{}.schema(in) == in);
  CHECK(CenterCrop{.height = 20, .width = 10}.schema(in).at("image").shape == Shape{20, 10, 6});
  CHECK_THROWS_AS((HorizontalFlip{.p = 1.1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Rotate{.degrees = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((CenterCrop{.height = 31, .width = 10}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Rotate{.field = "label"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Rotate{.field = "picture"}.schema(in)), ConfigError);
  CHECK(VerticalFlip{}.schema(in) == in);
  CHECK_THROWS_AS((VerticalFlip{.p = -0.1}.schema(in)), ConfigError);
  CHECK_THROWS_WITH_AS(
      Rotate90{}.schema(in),
      "[rotate90] pictures must be square to be turned by 90 degrees, got image: uint8 [30, 40, "
      "6]; crop them to squares, or take flip and vertical_flip, which together turn by 180",
      ConfigError);
  CHECK(Rotate90{}.schema(test::picture_schema(30, 30, 1)) == test::picture_schema(30, 30, 1));
  CHECK_THROWS_AS((Rotate90{.p = 1.5}.schema(test::picture_schema(30, 30, 1))), ConfigError);
  CHECK(Affine{}.schema(in) == in);
  CHECK_THROWS_AS((Affine{.p = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Affine{.degrees = {5, -5}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Affine{.translate = {1.5, 0}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Affine{.scale = {0, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Affine{.shear_y = {0, 85}}.schema(in)), ConfigError);
  Schema masked = in;
  masked.put(FieldSpec::fixed("mask", DType::uint8, Shape{30, 40}));
  const CenterCrop crop{.height = 20, .width = 10, .masks = {"mask"}};
  CHECK(crop.schema(masked).at("mask").shape == Shape{20, 10});
  CHECK_THROWS_AS((Rotate{.masks = {"label"}}.schema(masked)), ConfigError);
  CHECK(HorizontalFlip{.mark = "flip"}.schema(in).at("flip").dtype == DType::uint8);
  CHECK_THROWS_AS((HorizontalFlip{.mark = "label"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((HorizontalFlip{.masks = {"mask"}, .mark = "flip"}.schema(masked)), ConfigError);
}
