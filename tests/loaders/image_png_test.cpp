#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/png_decoder.h>
#include <headrace/loaders/image/png_reader.h>
#include <headrace/loaders/image/png_writer.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/loaders/whole_picture.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Pixels;
using headrace::test::PngSpec;

namespace {

Pixels whole_png(const Bytes& file) {
  return headrace::test::whole<PngDecoder>(file);
}

std::vector<std::uint16_t> labels_of(const Bytes& file) {
  PngDecoder decoder;
  const ImageHeader header = decoder.open(file);
  const DecodedLabels labels = decoder.decode_labels({0, 0, header.width, header.height});
  REQUIRE(labels.stride == static_cast<std::size_t>(header.width));
  return {labels.data, labels.data + header.width * header.height};
}

}  // namespace

TEST_CASE("colour PNG files come back as they were written, interlaced or not") {
  const Pixels pixels = test::picture(40, 30, 3);
  for (bool interlaced : {false, true}) {
    CHECK(whole_png(test::encode_png({.interlaced = interlaced}, pixels, 120)) == pixels);
  }
}

TEST_CASE("alpha is dropped, grey and 16 bits become 8-bit colour") {
  const Pixels rgba = test::picture(40, 30, 4);
  const Pixels rgb = whole_png(test::encode_png({.colour = PNG_COLOR_TYPE_RGBA}, rgba, 160));
  for (std::size_t i = 0; i < 1200; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      REQUIRE(rgb[3 * i + c] == rgba[4 * i + c]);
  }
  const Pixels grey = test::picture(40, 30, 1);
  const Pixels from_grey = whole_png(test::encode_png({.colour = PNG_COLOR_TYPE_GRAY}, grey, 40));
  for (std::size_t i = 0; i < 3600; ++i)
    REQUIRE(from_grey[i] == grey[i / 3]);

  const Pixels deep = test::picture(80, 30, 1);  // 40 x 30 values of two bytes
  const Pixels shallow =
      whole_png(test::encode_png({.bits = 16, .colour = PNG_COLOR_TYPE_GRAY}, deep, 80));
  for (std::size_t i = 0; i < 1200; ++i) {
    const unsigned value = deep[2 * i] * 256U + deep[2 * i + 1];
    REQUIRE(shallow[3 * i] == (value * 255U + 32767U) / 65535U);
  }
}

TEST_CASE("palettes of four bits are looked up") {
  std::vector<png_color> palette;
  for (int i = 0; i < 16; ++i) {
    palette.push_back({static_cast<png_byte>(i * 16), static_cast<png_byte>(255 - i),
                       static_cast<png_byte>(i * i)});
  }
  const Pixels rows = test::picture(20, 30, 1);  // two pixels a byte
  const PngSpec spec{.bits = 4, .colour = PNG_COLOR_TYPE_PALETTE, .palette = palette};
  const Pixels rgb = whole_png(test::encode_png(spec, rows, 20));
  for (std::size_t i = 0; i < 1200; ++i) {
    const unsigned byte = rows[i / 40 * 20 + i % 40 / 2];
    const png_color& colour = palette[i % 2 == 0 ? byte >> 4 : byte & 15];
    REQUIRE((rgb[3 * i] == colour.red && rgb[3 * i + 1] == colour.green &&
             rgb[3 * i + 2] == colour.blue));
  }
}

TEST_CASE("only the rows of a region are decoded, and they are the right ones") {
  const Pixels pixels = test::picture(40, 30, 3);
  PngDecoder decoder;
  const Bytes file = test::encode_png({}, pixels, 120);
  decoder.open(file);
  const DecodedPixels part = decoder.decode({.x = 3, .y = 11, .width = 5, .height = 7});
  CHECK(part.region == Region{.x = 0, .y = 11, .width = 40, .height = 7});
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 40; ++x) {
      for (int c = 0; c < 3; ++c) {
        REQUIRE(part.data[part.stride * static_cast<std::size_t>(y) +
                          static_cast<std::size_t>(4 * x + c)] ==
                pixels[static_cast<std::size_t>(((11 + y) * 40 + x) * 3 + c)]);
      }
    }
  }
}

TEST_CASE("PNG files that are cut off, altered or beyond the limits are refused") {
  const Bytes file = test::encode_png({}, test::picture(40, 30, 3), 120);
  for (std::size_t size = 0; size + 8 < file.size(); size += 13) {
    CHECK_THROWS_AS(
        whole_png(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))),
        DataError);
  }
  Random random(RandomKey{.seed = 2});
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    Bytes bad = file;
    bad[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bad.size() - 12)))] ^=
        static_cast<std::byte>(1 << random.below(8));
    try {
      whole_png(bad);
    } catch (const DataError& error) {
      REQUIRE(std::string(error.what()).find("PNG: ") == 0);
      ++refused;
    }
  }
  CHECK(refused == 500);  // every chunk carries a checksum
}

TEST_CASE(
    "a file with alpha comes back with it, and others are refused by the reader of cut-outs") {
  const Pixels rgba = test::picture(40, 30, 4);
  const Bytes file = test::encode_png({.colour = PNG_COLOR_TYPE_RGBA}, rgba, 160);
  const RgbaPicture picture = decode_rgba_png(std::as_bytes(std::span(file)));
  CHECK(picture.width == 40);
  CHECK(picture.height == 30);
  CHECK(picture.rgba == rgba);
  const Bytes opaque = test::encode_png({}, test::picture(40, 30, 3), 120);
  CHECK_THROWS_AS(decode_rgba_png(std::as_bytes(std::span(opaque))), DataError);
  const auto half = std::as_bytes(std::span(file)).first(file.size() / 2);
  CHECK_THROWS_AS(decode_rgba_png(half), DataError);
}

TEST_CASE("no reader of PNG goes by gamma: colours, alpha and labels are what the file stores") {
  const Pixels rgba = test::picture(40, 30, 4);
  const Pixels deep = test::picture(80, 30, 4);  // values of two bytes
  const Pixels grey = test::picture(40, 30, 1);
  for (const double gamma : {0.0, 0.45455, 1.0, 0.1}) {
    CAPTURE(gamma);
    const Bytes file = test::encode_png({.colour = PNG_COLOR_TYPE_RGBA, .gamma = gamma}, rgba, 160);
    CHECK(decode_rgba_png(file).rgba == rgba);
    CHECK(whole_png(file) ==
          whole_png(test::encode_png({.colour = PNG_COLOR_TYPE_RGBA}, rgba, 160)));
    const RgbaPicture shallow = decode_rgba_png(
        test::encode_png({.bits = 16, .colour = PNG_COLOR_TYPE_RGBA, .gamma = gamma}, deep, 320));
    REQUIRE(shallow.rgba.size() == 4800);
    for (std::size_t i = 0; i < shallow.rgba.size(); ++i) {
      const unsigned value = deep[2 * i] * 256U + deep[2 * i + 1];
      REQUIRE(shallow.rgba[i] == (value * 255U + 32767U) / 65535U);
    }
    CHECK(labels_of(test::encode_png({.colour = PNG_COLOR_TYPE_GRAY, .gamma = gamma}, grey, 40)) ==
          std::vector<std::uint16_t>(grey.begin(), grey.end()));
  }
}

TEST_CASE("a cut-out may be a palette with alpha") {
  const std::vector<png_color> palette = {{10, 20, 30}, {200, 100, 50}, {1, 2, 3}};
  Pixels indices(std::size_t{40} * 30);
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<std::uint8_t>(i % 3);
  const RgbaPicture picture = decode_rgba_png(test::encode_png(
      {.colour = PNG_COLOR_TYPE_PALETTE, .palette = palette, .palette_alpha = {0, 77}}, indices,
      40));
  REQUIRE(picture.rgba.size() == 4800);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const png_color& colour = palette[indices[i]];
    const std::uint8_t* rgba = picture.rgba.data() + 4 * i;
    REQUIRE((rgba[0] == colour.red && rgba[1] == colour.green && rgba[2] == colour.blue));
    REQUIRE(rgba[3] == (indices[i] == 0 ? 0 : indices[i] == 1 ? 77 : 255));
  }
}

TEST_CASE("a cut-out has sides of 16384 at most") {
  const Pixels row(std::size_t{4} * 16385, 1);
  const Bytes file = test::encode_png({.width = 16385, .height = 1, .colour = PNG_COLOR_TYPE_RGBA},
                                      row, row.size());
  CHECK_THROWS_WITH_AS(decode_rgba_png(file), "PNG: sides must be at most 16384, got 16385 x 1",
                       DataError);
}

TEST_CASE("labels of an interlaced file are those of a plain one, whatever its sides") {
  struct LabelKind {
    int colour;
    int bits;
    int channels;
  };
  for (const LabelKind& kind : {LabelKind{PNG_COLOR_TYPE_GRAY, 1, 1},
                                {PNG_COLOR_TYPE_GRAY, 4, 1},
                                {PNG_COLOR_TYPE_GRAY, 16, 1},
                                {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2},
                                {PNG_COLOR_TYPE_RGB, 8, 3},
                                {PNG_COLOR_TYPE_RGBA, 16, 4}}) {
    for (int side = 1; side <= 81; ++side) {
      const int width = 1 + (side - 1) % 9;
      const int height = 1 + (side - 1) / 9;
      CAPTURE(kind.colour);
      CAPTURE(width);
      CAPTURE(height);
      const int row = (width * kind.channels * kind.bits + 7) / 8;
      Pixels rows = test::picture(row, height, 1);
      if (kind.channels > 2) std::ranges::fill(rows, std::uint8_t{9});
      PngSpec spec{.width = width, .height = height, .bits = kind.bits, .colour = kind.colour};
      const auto plain = labels_of(test::encode_png(spec, rows, static_cast<std::size_t>(row)));
      spec.interlaced = true;
      REQUIRE(labels_of(test::encode_png(spec, rows, static_cast<std::size_t>(row))) == plain);
    }
  }
}

TEST_CASE("grey values are stored as they are") {
  const Pixels grey = test::picture(40, 30, 1);
  const auto file = encode_grey_png(grey.data(), 40, 30);
  PngDecoder decoder;
  CHECK(decoder.open(file).components == 1);
  const Pixels rgb = whole_png(file);
  for (std::size_t i = 0; i < grey.size(); ++i)
    REQUIRE(rgb[3 * i] == grey[i]);
}
