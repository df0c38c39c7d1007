#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/crop_indexed_jpeg.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/jpeg_decoder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::Bytes;
using test::Pixels;

namespace {

/// RGB of the part of `region` (full-size pixels) among what a decoder hands out, which may be
/// more; rows joined.
Pixels packed(const DecodedPixels& pixels, const Region& region) {
  const int scale = pixels.scale;
  const int first = region.x / scale - pixels.region.x;
  const int last = (region.x + region.width + scale - 1) / scale - pixels.region.x;
  Pixels rgb;
  for (int y = 0; y < pixels.region.height; ++y) {
    const std::uint8_t* row = pixels.data + pixels.stride * static_cast<std::size_t>(y);
    for (int x = first; x < last; ++x)
      rgb.insert(rgb.end(), row + 4 * x, row + 4 * x + 3);
  }
  return rgb;
}

Pixels crop_of_original(const Bytes& file, const Region& region, int scale) {
  JpegDecoder decoder;
  decoder.open(file);
  return packed(decoder.decode(region, scale), region);
}

Pixels crop_by_index(const Bytes& file, const Region& region, int scale) {
  CropIndexedJpeg indexed;
  indexed.open(file);
  const CropIndexedJpeg::Part part = indexed.part(region, scale);
  JpegDecoder decoder;
  decoder.open_part(part.markers);
  const Region inside{region.x - part.x, region.y - part.y, region.width, region.height};
  return packed(decoder.decode_part(inside, scale, part.rows), inside);
}

Region random_region(Random& random, int width, int height) {
  Region region;
  region.width = 1 + static_cast<int>(random.below(width));
  region.height = 1 + static_cast<int>(random.below(height));
  region.x = static_cast<int>(random.below(width - region.width + 1));
  region.y = static_cast<int>(random.below(height - region.height + 1));
  return region;
}

void check_crops(const Bytes& original, int width, int height, int count) {
  const Bytes indexed = make_crop_indexed(original);
  Random random(RandomKey{.seed = static_cast<std::uint64_t>(width * 1000 + height)});
  int different = 0;
  for (int i = 0; i < count; ++i) {
    const Region region = random_region(random, width, height);
    const int scale = 1 << random.below(4);
    if (crop_of_original(original, region, scale) != crop_by_index(indexed, region, scale))
      ++different;
  }
  CHECK(different == 0);
}

struct Kind {
  const char* name;
  test::JpegSpec spec;
};

std::vector<Kind> kinds() {
  return {{"4:2:0", {}},
          {"4:2:2", {.v_samp = 1}},
          {"4:4:0", {.h_samp = 1}},
          {"4:1:1", {.h_samp = 4, .v_samp = 1}},
          {"4:4:4", {.h_samp = 1, .v_samp = 1}},
          {"grey", {.components = 1}},
          {"CMYK", {.components = 4}},
          {"YCCK", {.components = 4, .ycck = true}},
          {"progressive", {.progressive = true}},
          {"progressive 4:4:4", {.h_samp = 1, .v_samp = 1, .progressive = true}},
          {"progressive grey", {.components = 1, .progressive = true}},
          {"restart markers", {.restart_rows = 1}},
          {"coarse quantisation", {.quality = 5}},
          {"fine quantisation", {.h_samp = 1, .v_samp = 1, .quality = 100}}};
}

std::string failure(const Bytes& file, const Region& region) {
  try {
    crop_by_index(file, region, 1);
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a crop by index has exactly the pixels of the crop of the original") {
  const int sides[][2] = {{500, 375}, {161, 97}, {64, 48}, {17, 200}, {7, 5}, {1, 1}, {1040, 33}};
  for (Kind kind : kinds()) {
    for (const auto& [width, height] : sides) {
      CAPTURE(std::string(kind.name));
      CAPTURE(width);
      CAPTURE(height);
      kind.spec.width = width;
      kind.spec.height = height;
      const Bytes original =
          test::encode_jpeg(kind.spec, test::picture(width, height, kind.spec.components));
      check_crops(original, width, height, 40);
    }
  }
}

TEST_CASE(
    "windows, flips and orientations give the bytes of the original through the image decoder") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    Bytes original = test::encode_jpeg({.width = 333, .height = 250}, test::picture(333, 250, 3));
    if (orientation > 1) original = test::with_orientation(original, orientation);
    const Bytes indexed = make_crop_indexed(original);
    Random random(RandomKey{.seed = static_cast<std::uint64_t>(orientation)});
    for (int i = 0; i < 24; ++i) {
      Pixels results[2];
      const bool flip = i % 2 == 1;
      const Random start = random;
      for (int which = 0; which < 2; ++which) {
        random = start;
        ImageDecoder decoder;
        const ImageHeader header = decoder.open(which == 0 ? original : indexed);
        const ImageWindow window = place(RandomResizedCrop{.height = 48, .width = 64},
                                         header.shown_width(), header.shown_height(), random);
        results[which].resize(std::size_t{48} * 64 * 3);
        decoder.decode(window,
                       {.rgb = results[which].data(), .height = 48, .width = 64, .flip = flip});
      }
      CHECK(results[0] == results[1]);
    }
  }
}

TEST_CASE("other decoders read the file and see the same picture") {
  for (const Kind& kind : kinds()) {
    CAPTURE(std::string(kind.name));
    test::JpegSpec spec = kind.spec;
    spec.width = 131;
    spec.height = 77;
    const Bytes original = test::encode_jpeg(spec, test::picture(131, 77, spec.components));
    const Bytes indexed = make_crop_indexed(original);
    const J_COLOR_SPACE space = spec.components == 4 ? JCS_CMYK : JCS_RGB;
    CHECK(test::plain_decode(indexed, space) == test::plain_decode(original, space));
  }
}

TEST_CASE("a part is as small as the region it is for") {
  const Bytes original =
      test::encode_jpeg({.width = 2000, .height = 1504}, test::picture(2000, 1504, 3));
  const Bytes indexed = make_crop_indexed(original);
  CHECK(indexed.size() < original.size() * 105 / 100);
  CropIndexedJpeg file;
  const ImageHeader header = file.open(indexed);
  CHECK(header.width == 2000);
  CHECK(header.height == 1504);
  const auto bytes_of = [&](const Region& region) {
    std::size_t sum = 0;
    for (const JpegRow& row : file.part(region, 1).rows)
      sum += row.bytes.size();
    return sum;
  };
  const std::size_t whole = bytes_of({0, 0, 2000, 1504});
  const std::size_t tenth = bytes_of({900, 700, 632, 476});
  CHECK(tenth < whole * 15 / 100);
}

TEST_CASE("files that cannot be indexed or are broken are refused with a reason") {
  const Bytes original = test::encode_jpeg({}, test::picture(64, 48, 3));
  const auto reason = [](const Bytes& file) -> std::string {
    try {
      make_crop_indexed(file);
    } catch (const DataError& error) {
      return error.what();
    }
    return {};
  };
  CHECK(reason(original).empty());
  for (std::size_t cut = 2; cut < original.size() - 2; cut += 64) {
    CAPTURE(cut);
    CHECK_FALSE(reason(Bytes(original.begin(), original.begin() + static_cast<std::ptrdiff_t>(cut)))
                    .empty());
  }
  // A small file that says it is huge: its coefficients would take 1.5 GB.
  Bytes huge = test::encode_jpeg({.h_samp = 1, .v_samp = 1}, test::picture(64, 48, 3));
  constexpr std::array<std::byte, 2> frame{std::byte{0xff}, std::byte{0xc0}};
  const auto at = std::search(huge.begin(), huge.end(), frame.begin(), frame.end());
  REQUIRE(huge.end() - at > 9);
  std::fill_n(at + 5, 4, std::byte{0x3e});
  CHECK(reason(huge).find("limit of 1 GiB") != std::string::npos);
}

TEST_CASE("an image that is not the index's own is a named error") {
  const Bytes indexed = make_crop_indexed(
      test::encode_jpeg({.width = 200, .height = 150}, test::picture(200, 150, 3)));
  const std::size_t first = [&] {
    std::size_t at = indexed.size();
    while (indexed[at - 1] != std::byte{0xda} || indexed[at - 2] != std::byte{0xff})
      --at;
    return at + 12;
  }();
  CropIndexedJpeg file;
  file.open(indexed);
  Random random(RandomKey{.seed = 31});
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    Bytes other = indexed;
    const auto past = static_cast<std::int64_t>(file.jpeg().size() - 2 - first);
    other[first + static_cast<std::size_t>(random.below(past))] ^=
        static_cast<std::byte>(1 << random.below(8));
    if (!failure(other, {0, 0, 200, 150}).empty()) ++refused;
  }
  // A bit of a value's own changes that value and nothing else.
  CHECK(refused > 100);
}

TEST_CASE("a region beyond the part is a named error") {
  const Bytes indexed = make_crop_indexed(test::encode_jpeg({}, test::picture(64, 48, 3)));
  CropIndexedJpeg file;
  file.open(indexed);
  const CropIndexedJpeg::Part part = file.part({0, 0, 64, 48}, 1);
  for (const Region& region : {Region{0, 0, 65, 48}, Region{1, 0, 64, 48}, Region{0, 1, 64, 48}}) {
    JpegDecoder decoder;
    decoder.open_part(part.markers);
    CHECK_THROWS_AS(decoder.decode_part(region, 1, part.rows), DataError);
  }
}

TEST_CASE("a damaged index is a named error, whatever byte it is in") {
  const Bytes original =
      test::encode_jpeg({.width = 200, .height = 150}, test::picture(200, 150, 3));
  const Bytes indexed = make_crop_indexed(original);
  const Region region{70, 40, 90, 60};
  REQUIRE(failure(indexed, region).empty());
  const std::size_t jpeg = [&] {
    CropIndexedJpeg file;
    file.open(indexed);
    return file.jpeg().size();
  }();
  for (std::size_t at = jpeg; at < indexed.size() - 8; ++at) {
    Bytes damaged = indexed;
    damaged[at] ^= std::byte{0x10};
    CHECK_FALSE(failure(damaged, region).empty());
  }
  CHECK_FALSE(CropIndexedJpeg::recognises(original));
}
