#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/resize_image.h>
#include <headrace/tests/loaders/image_files_tiff.h>
#include <headrace/tests/loaders/memory_files.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::as_tensor;
using headrace::test::Bytes;
using headrace::test::Pixels;

namespace {

using MaskLabels = std::vector<std::uint16_t>;

/// Red is the column, green the row.
Pixels coordinates(int width, int height) {
  Pixels rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      rgb.insert(rgb.end(), {static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y), 90});
  }
  return rgb;
}

/// 16-bit grey, row * 256 + column.
Pixels coordinate_labels(int width, int height) {
  Pixels bytes;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      bytes.insert(bytes.end(), {static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(x)});
  }
  return bytes;
}

Bytes deep_png(int width, int height, const Pixels& bytes, bool interlaced = false) {
  return test::encode_png({.width = width,
                           .height = height,
                           .bits = 16,
                           .colour = PNG_COLOR_TYPE_GRAY,
                           .interlaced = interlaced},
                          bytes, static_cast<std::size_t>(width) * 2);
}

struct Decoded {
  Pixels image;
  MaskLabels mask;
};

Decoded decoded(const DecodeImage& op, const Bytes& image, const Bytes& mask,
                std::int64_t position = 0) {
  Sample sample;
  sample.set("image", as_tensor(image));
  sample.set("mask", as_tensor(mask));
  Random random(RandomKey{.seed = 4, .position = position});
  op(sample, random);
  Decoded out;
  const auto pixels = sample["image"].values<std::uint8_t>();
  out.image.assign(pixels.begin(), pixels.end());
  const auto [height, width] = size_of(op.crop);
  visit_labels(mask_of(sample, "mask", height, width),
               [&](const auto* labels) { out.mask.assign(labels, labels + height * width); });
  return out;
}

std::string failure(const DecodeImage& op, const Bytes& image, const Bytes& mask) {
  try {
    decoded(op, image, mask);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

/// All labels of a file as ImageDecoder gives them.
MaskLabels decoded_labels(const Bytes& file) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  MaskLabels labels(static_cast<std::size_t>(header.width * header.height));
  decoder.decode_labels({0,
                         0,
                         double(header.width),
                         double(header.height),
                         {.width = header.width, .height = header.height}},
                        {.labels = labels.data(),
                         .dtype = DType::uint16,
                         .height = header.height,
                         .width = header.width});
  return labels;
}

/// Bitmap of `bits` a pixel with a palette that no index equals.
Bytes indexed_bmp(int width, int height, int bits, const Pixels& indices, bool top_first) {
  const int row = (width * bits + 31) / 32 * 4;
  const int start = 54 + 4 * (1 << bits);
  std::vector<unsigned char> file(static_cast<std::size_t>(start + row * height), 0);
  const auto put = [&](std::size_t at, unsigned v) {
    for (std::size_t i = 0; i < 4; ++i)
      file[at + i] = static_cast<unsigned char>(v >> (8 * i));
  };
  file[0] = 'B';
  file[1] = 'M';
  put(2, static_cast<unsigned>(file.size()));
  put(10, static_cast<unsigned>(start));
  put(14, 40);
  put(18, static_cast<unsigned>(width));
  put(22, static_cast<unsigned>(top_first ? -height : height));
  put(26, 1U | static_cast<unsigned>(bits) << 16);
  for (std::size_t i = 0; i < (std::size_t{1} << bits); ++i)
    put(54 + 4 * i, 0x00ff40 + static_cast<unsigned>(i));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int stored = top_first ? y : height - 1 - y;
      const int bit = x * bits;
      file[static_cast<std::size_t>(start + stored * row + bit / 8)] |= static_cast<unsigned char>(
          indices[static_cast<std::size_t>(y * width + x)] << (8 - bits - bit % 8));
    }
  }
  const auto* first = reinterpret_cast<const std::byte*>(file.data());
  return {first, first + file.size()};
}

}  // namespace

TEST_CASE("every label lies where its picture's pixel lies, through crops, resizes and flips") {
  const int width = 200;
  const int height = 150;
  const Bytes image = test::encode_png({.width = width, .height = height},
                                       coordinates(width, height), std::size_t{3} * width);
  const Pixels places = coordinate_labels(width, height);
  const Bytes masks[] = {deep_png(width, height, places), deep_png(width, height, places, true),
                         test::encode_tiff({.width = width,
                                            .height = height,
                                            .bits = 16,
                                            .samples = 1,
                                            .photometric = PHOTOMETRIC_MINISBLACK,
                                            .tile = 32},
                                           places)};
  const ImageGeometry geometries[] = {WholeImage{height, width}, RandomResizedCrop{48, 40},
                                      ResizeTo{60, 50}, ResizedCenterCrop{64, 48, 56},
                                      ResizeTo{220, 310}};
  for (const ImageGeometry& geometry : geometries) {
    for (const Bytes& mask : masks) {
      for (int position = 0; position < 8; ++position) {
        const DecodeImage op{
            .crop = geometry, .flip = 0.5F, .masks = {"mask"}, .mask_dtype = DType::uint16};
        const Decoded got = decoded(op, image, mask, position);
        int worst = 0;
        for (std::size_t i = 0; i < got.mask.size(); ++i) {
          worst = std::max(worst, std::abs(got.image[3 * i] - (got.mask[i] & 255)));
          worst = std::max(worst, std::abs(got.image[3 * i + 1] - (got.mask[i] >> 8)));
        }
        // Half a pixel of the nearest one, half a level of rounding, and what the filter loses
        // beyond the picture's edge.
        CHECK(worst <= 2);
      }
    }
  }
}

TEST_CASE("labels are those of the pixels that hold the centres") {
  const int width = 61;
  const int height = 47;
  const Bytes image = test::encode_png({.width = width, .height = height},
                                       coordinates(width, height), std::size_t{3} * width);
  const Bytes mask = deep_png(width, height, coordinate_labels(width, height));
  const RandomResizedCrop crop{20, 30};
  for (int position = 0; position < 30; ++position) {
    Random random(RandomKey{.seed = 4, .position = position});
    const Region r = place(crop, width, height, random).bounds;
    const bool flip = random.chance(0.5);
    const Decoded got =
        decoded({.crop = crop, .flip = 0.5F, .masks = {"mask"}, .mask_dtype = DType::uint16}, image,
                mask, position);
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 30; ++x) {
        // In whole numbers: floor(start + (2 i + 1) length / (2 out)).
        const int across = r.x + (2 * (flip ? 29 - x : x) + 1) * r.width / 60;
        const int down = r.y + (2 * y + 1) * r.height / 40;
        REQUIRE(got.mask[static_cast<std::size_t>(y * 30 + x)] == down * 256 + across);
      }
    }
  }
}

TEST_CASE("masks follow the shown picture, and an orientation of their own") {
  const int width = 48;
  const int height = 32;
  const Bytes plain = test::encode_jpeg({.width = width, .height = height, .quality = 100},
                                        coordinates(width, height));
  for (int o = 1; o <= 8; ++o) {
    const Bytes image = test::with_orientation(plain, o);
    // The same stored rows under the same orientation, as TIFF.
    const Bytes mask = test::encode_tiff({.width = width,
                                          .height = height,
                                          .bits = 16,
                                          .samples = 1,
                                          .photometric = PHOTOMETRIC_MINISBLACK,
                                          .orientation = o},
                                         coordinate_labels(width, height));
    const int across = o >= 5 ? height : width;
    const int down = o >= 5 ? width : height;
    for (const ImageGeometry& geometry :
         {ImageGeometry{WholeImage{down, across}}, ImageGeometry{RandomResizedCrop{16, 16}}}) {
      const Decoded got =
          decoded({.crop = geometry, .flip = 0.5F, .masks = {"mask"}, .mask_dtype = DType::uint16},
                  image, mask, o);
      for (std::size_t i = 0; i < got.mask.size(); ++i) {
        CAPTURE(o);
        REQUIRE(std::abs(got.image[3 * i] - (got.mask[i] & 255)) <= 5);
        REQUIRE(std::abs(got.image[3 * i + 1] - (got.mask[i] >> 8)) <= 5);
      }
    }
  }
}

TEST_CASE("a mask does not change its picture") {
  const Pixels pixels = test::picture(90, 70, 3);
  const Bytes image = test::encode_jpeg({.width = 90, .height = 70}, pixels);
  const Bytes mask = deep_png(90, 70, coordinate_labels(90, 70));
  for (int position = 0; position < 10; ++position) {
    const DecodeImage with{.crop = RandomResizedCrop{24, 24},
                           .flip = 0.5F,
                           .masks = {"mask"},
                           .mask_dtype = DType::uint16};
    Sample sample;
    sample.set("image", as_tensor(image));
    Random random(RandomKey{.seed = 4, .position = position});
    DecodeImage{.crop = RandomResizedCrop{24, 24}, .flip = 0.5F}(sample, random);
    const auto alone = sample["image"].values<std::uint8_t>();
    const Decoded got = decoded(with, image, mask, position);
    CHECK(std::equal(alone.begin(), alone.end(), got.image.begin(), got.image.end()));
  }
}

TEST_CASE("labels of 1, 2, 4 and 8 bits and palette indices are kept as stored") {
  const Pixels rows = test::picture(20, 30, 1);
  std::vector<png_color> colours(256, png_color{9, 8, 7});
  for (int bits : {1, 2, 4, 8}) {
    for (int colour : {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_PALETTE}) {
      for (bool interlaced : {false, true}) {
        const int width = 20 * 8 / bits;
        test::PngSpec spec{
            .width = width, .height = 30, .bits = bits, .colour = colour, .interlaced = interlaced};
        if (colour == PNG_COLOR_TYPE_PALETTE)
          spec.palette.assign(colours.begin(), colours.begin() + (1 << bits));
        const MaskLabels labels = decoded_labels(test::encode_png(spec, rows, 20));
        for (std::size_t i = 0; i < labels.size(); ++i) {
          const std::size_t bit = i * static_cast<std::size_t>(bits);
          const unsigned wanted =
              rows[bit / 8] >> (8U - static_cast<unsigned>(bits) - bit % 8) & ((1U << bits) - 1);
          REQUIRE(labels[i] == wanted);
        }
      }
    }
  }
  for (int bits : {1, 4, 8}) {
    for (bool top_first : {false, true}) {
      Pixels indices = test::picture(21, 13, 1);
      for (std::uint8_t& v : indices)
        v = static_cast<std::uint8_t>(v & ((1 << bits) - 1));
      const MaskLabels labels = decoded_labels(indexed_bmp(21, 13, bits, indices, top_first));
      CHECK(std::equal(labels.begin(), labels.end(), indices.begin(), indices.end()));
    }
  }
}

TEST_CASE("grey stored as colour is a mask, colours are none, alpha is left out") {
  const Pixels grey = test::picture(40, 30, 1);
  Pixels equal;
  Pixels veiled;
  for (std::uint8_t v : grey) {
    equal.insert(equal.end(), 3, v);
    veiled.insert(veiled.end(), {v, v, v, static_cast<std::uint8_t>(255 - v)});
  }
  for (const Bytes& file : {test::encode_png({}, equal, 120),
                            test::encode_png({.colour = PNG_COLOR_TYPE_RGBA}, veiled, 160)}) {
    const MaskLabels labels = decoded_labels(file);
    CHECK(std::equal(labels.begin(), labels.end(), grey.begin(), grey.end()));
  }
  CHECK_THROWS_AS(decoded_labels(test::encode_png({}, test::picture(40, 30, 3), 120)), DataError);
}

TEST_CASE("masks that cannot be right are refused by name") {
  const Bytes image = test::encode_png({}, test::picture(40, 30, 3), 120);
  const Bytes deep = deep_png(40, 30, coordinate_labels(40, 30));
  const DecodeImage op{.crop = ResizeTo{20, 20}, .masks = {"mask"}};
  CHECK(failure(op, image, deep).find("mask \"mask\": mask must have labels up to 255") == 0);
  CHECK(failure(op, image, test::encode_jpeg({.width = 40, .height = 30}, Pixels(3600)))
            .find("its compression changes labels; store masks as PNG") != std::string::npos);
  CHECK(failure(op, image, deep_png(30, 40, coordinate_labels(30, 40)))
            .find("must have the sides of its picture as it is shown, 30 x 40, got 40 x 30") !=
        std::string::npos);
  const Bytes turned =
      test::with_orientation(test::encode_jpeg({.width = 40, .height = 30}, Pixels(3600)), 6);
  CHECK(failure(op, turned, deep).find("it is drawn on the picture before EXIF turns it") !=
        std::string::npos);
  CHECK(failure(op, image, image).find("this file has colours") != std::string::npos);
  CHECK(failure(op, image, Bytes{}).find("mask \"mask\": image must be") == 0);
}

TEST_CASE("decode and resize say what they make of masks, and refuse what are none") {
  const Schema files{FieldSpec::ragged("image", DType::uint8, 5000),
                     FieldSpec::ragged("mask", DType::uint8, 5000)};
  const DecodeImage decode{
      .crop = ResizeTo{20, 10}, .masks = {"mask"}, .mask_dtype = DType::uint16};
  const Schema decoded = decode.schema(files);
  CHECK(decoded.at("mask") == FieldSpec::fixed("mask", DType::uint16, Shape{20, 10}));
  const Resize resize{.height = 5, .width = 6, .masks = {"mask"}};
  CHECK(resize.schema(decoded).at("mask") == FieldSpec::fixed("mask", DType::uint16, Shape{5, 6}));
  CHECK_THROWS_AS(resize.schema(files), ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizeTo{8, 8}, .masks = {"veins"}}.schema(files)),
                  ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizeTo{8, 8}, .masks = {"image"}}.schema(files)),
                  ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizeTo{8, 8}, .mask_dtype = DType::int64}.schema(files)),
                  ConfigError);
}

TEST_CASE("resize takes the mask along by nearest pixels") {
  Sample sample;
  const Pixels pixels = test::picture(40, 30, 3);
  sample.set("image", Tensor::of(std::span<const std::uint8_t>(pixels), Shape{30, 40, 3}));
  MaskLabels labels;
  for (unsigned i = 0; i < 1200; ++i)
    labels.push_back(static_cast<std::uint16_t>(i));
  sample.set("mask", Tensor::of(std::span<const std::uint16_t>(labels), Shape{30, 40}));
  Resize{.height = 7, .width = 9, .masks = {"mask"}}(sample);
  const auto got = mask_of(sample, "mask", 7, 9).values<std::uint16_t>();
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 9; ++x) {
      REQUIRE(got[static_cast<std::size_t>(y * 9 + x)] ==
              (2 * y + 1) * 30 / 14 * 40 + (2 * x + 1) * 40 / 18);
    }
  }
}
