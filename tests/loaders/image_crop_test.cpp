#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop_image.h>
#include <headrace/loaders/image/resize_image.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels noise(int width, int height, int channels) {
  Pixels pixels;
  unsigned state = 5;
  for (int i = 0; i < width * height * channels; ++i) {
    state = state * 1664525U + 1013904223U;
    pixels.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  return pixels;
}

Sample sample_of(const Pixels& pixels, const Shape& shape) {
  Sample sample;
  sample.set("image", Tensor::of(std::span<const std::uint8_t>(pixels), shape));
  return sample;
}

Pixels pixels_of(const Sample& sample, const char* field = "image") {
  const auto values = sample[field].values<std::uint8_t>();
  return {values.begin(), values.end()};
}

/// The pixels of a region, rows packed.
Pixels cut(const Pixels& pixels, int width, int channels, const Region& region) {
  Pixels part;
  for (int y = region.y; y < region.y + region.height; ++y) {
    const auto* first = pixels.data() + (y * width + region.x) * channels;
    part.insert(part.end(), first, first + region.width * channels);
  }
  return part;
}

Pixels mirrored(const Pixels& pixels, int width, int channels) {
  Pixels result(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto c = static_cast<std::size_t>(channels);
    const auto w = static_cast<std::size_t>(width);
    const std::size_t row = i / c / w;
    result[(row * w + w - 1 - i / c % w) * c + i % c] = pixels[i];
  }
  return result;
}

int most_apart(const Pixels& a, const Pixels& b) {
  REQUIRE(a.size() == b.size());
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

constexpr int picture_width = 61;
constexpr int picture_height = 47;

}  // namespace

TEST_CASE("a crop of a decoded picture is the drawn region, cut out and resized, then mirrored") {
  const RandomResizedCrop geometry{.height = 20, .width = 24};
  for (const int channels : {1, 3, 6}) {
    const Pixels pixels = noise(picture_width, picture_height, channels);
    for (int i = 0; i < 20; ++i) {
      const RandomKey key{.seed = 3, .position = i};
      Random random(key);
      const Region region = place(geometry, picture_width, picture_height, random).bounds;
      const bool flipped = random.chance(0.5F);
      Sample wanted = sample_of(cut(pixels, picture_width, channels, region),
                                Shape{region.height, region.width, channels});
      Resize{.height = 20, .width = 24}(wanted);
      Sample got = sample_of(pixels, Shape{picture_height, picture_width, channels});
      Random again(key);
      CropImage{.crop = geometry, .flip = 0.5F}(got, again);
      CHECK(got["image"].shape() == Shape{20, 24, channels});
      const Pixels straight = pixels_of(wanted);
      // The same weights but for the rounding of their places: the axis begins elsewhere.
      CHECK(most_apart(pixels_of(got), flipped ? mirrored(straight, 24, channels) : straight) <= 1);
    }
  }
}

TEST_CASE("masks take the same crop by nearest pixels") {
  const Pixels labels = noise(picture_width, picture_height, 1);
  const RandomResizedCrop geometry{.height = 20, .width = 24};
  for (int i = 0; i < 20; ++i) {
    const RandomKey key{.seed = 4, .position = i};
    Random random(key);
    const Region region = place(geometry, picture_width, picture_height, random).bounds;
    const bool flipped = random.chance(0.5F);
    Sample got =
        sample_of(noise(picture_width, picture_height, 3), Shape{picture_height, picture_width, 3});
    got.set("mask", Tensor::of(std::span<const std::uint8_t>(labels),
                               Shape{picture_height, picture_width}));
    Random again(key);
    CropImage{.crop = geometry, .flip = 0.5F, .masks = {"mask"}}(got, again);
    Pixels wanted;
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 24; ++x) {
        const int row = region.y + (2 * y + 1) * region.height / 40;
        const int column = region.x + (2 * x + 1) * region.width / 48;
        wanted.push_back(labels[static_cast<std::size_t>(row * picture_width + column)]);
      }
    }
    CHECK(pixels_of(got, "mask") == (flipped ? mirrored(wanted, 24, 1) : wanted));
  }
}

TEST_CASE("crops of decoded pictures refuse what cannot be right") {
  const Schema in = {FieldSpec::fixed("image", DType::uint8, Shape{8, 9, 3}),
                     FieldSpec::fixed("mask", DType::uint8, Shape{8, 9}),
                     FieldSpec::fixed("label", DType::int64, Shape{})};
  const CropImage crop{.crop = ResizeTo{5, 4}, .masks = {"mask"}};
  CHECK(crop.schema(in).at("image").shape == Shape{5, 4, 3});
  CHECK(crop.schema(in).at("mask").shape == Shape{5, 4});
  CHECK_THROWS_AS((CropImage{.flip = 2}.schema(in)), ConfigError);
  CHECK_THROWS_AS((CropImage{.field = "label"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((CropImage{.masks = {"label"}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((CropImage{.crop = ResizeTo{0, 4}}.schema(in)), ConfigError);
  Sample sample = sample_of(noise(4, 4, 1), Shape{4, 4, 1});
  Random random(RandomKey{});
  CHECK_THROWS_AS((CropImage{.crop = WholeImage{5, 5}}(sample, random)), DataError);
}
