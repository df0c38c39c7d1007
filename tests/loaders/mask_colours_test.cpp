#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files_tiff.h>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::Bytes;
using test::contains;
using test::Pixels;

namespace {

constexpr int mask_width = 40;
constexpr int mask_height = 30;
const std::vector<MaskColour> colours{
    {0, 0, 0, 0}, {255, 0, 0, 1}, {0, 128, 64, 2}, {9, 9, 9, 255}};

std::vector<std::uint16_t> classes() {
  std::vector<std::uint16_t> labels;
  for (const std::uint8_t value : test::picture(mask_width, mask_height, 1))
    labels.push_back(colours[value % 4].label);
  return labels;
}

/// The classes in their colours, `channels` a pixel.
Pixels painted(int channels) {
  Pixels pixels;
  for (const std::uint16_t label : classes()) {
    const MaskColour& colour = *std::ranges::find(colours, label, &MaskColour::label);
    pixels.insert(pixels.end(), {colour.red, colour.green, colour.blue});
    if (channels == 4) pixels.push_back(static_cast<std::uint8_t>(label * 50));
  }
  return pixels;
}

std::vector<std::uint16_t> colour_labels(const Bytes& file, const ImageWindow& window, int rows,
                                         int columns) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  decoder.open(file);
  std::vector<std::uint16_t> labels(static_cast<std::size_t>(rows * columns));
  decoder.decode_labels(window, {.labels = labels.data(),
                                 .dtype = DType::uint16,
                                 .height = rows,
                                 .width = columns,
                                 .colours = colours});
  return labels;
}

std::vector<std::uint16_t> colour_labels(const Bytes& file) {
  return colour_labels(
      file, {0, 0, mask_width, mask_height, {.width = mask_width, .height = mask_height}},
      mask_height, mask_width);
}

std::string colour_failure(const Bytes& file) {
  return test::message_of<DataError>([&] { colour_labels(file); });
}

Bytes png(const Pixels& pixels, int colour = PNG_COLOR_TYPE_RGB, int bits = 8,
          bool interlaced = false) {
  return test::encode_png({.width = mask_width,
                           .height = mask_height,
                           .bits = bits,
                           .colour = colour,
                           .interlaced = interlaced},
                          pixels, pixels.size() / mask_height);
}

}  // namespace

TEST_CASE("colours of PNG and TIFF masks become their labels, alpha is left out") {
  const std::vector<std::uint16_t> wanted = classes();
  CHECK(colour_labels(png(painted(3))) == wanted);
  CHECK(colour_labels(png(painted(3), PNG_COLOR_TYPE_RGB, 8, true)) == wanted);
  CHECK(colour_labels(png(painted(4), PNG_COLOR_TYPE_RGBA)) == wanted);
  CHECK(colour_labels(
            test::encode_tiff({.width = mask_width, .height = mask_height}, painted(3))) == wanted);
  CHECK(colour_labels(test::encode_tiff({.width = mask_width, .height = mask_height, .tile = 16},
                                        painted(3))) == wanted);
}

TEST_CASE("a window of a coloured mask has the labels of its pixels") {
  const std::vector<std::uint16_t> all = classes();
  const ImageWindow window{7, 11, 20, 10, {.x = 7, .y = 11, .width = 20, .height = 10}};
  const std::vector<std::uint16_t> part = colour_labels(png(painted(3)), window, 10, 20);
  for (std::size_t y = 0; y < 10; ++y) {
    for (std::size_t x = 0; x < 20; ++x)
      REQUIRE(part[y * 20 + x] == all[(y + 11) * mask_width + x + 7]);
  }
}

TEST_CASE("a colour without a label is named with its place, count and the nearest") {
  Pixels pixels = painted(3);
  for (const std::size_t i : {5 * mask_width + 3, 5 * mask_width + 4, 9 * mask_width}) {
    pixels[3 * i] = 250;
    pixels[3 * i + 1] = 3;
    pixels[3 * i + 2] = 0;
  }
  CHECK(colour_failure(png(pixels)) ==
        "PNG: its colours must be those of mask_colours (4), got [250, 3, 0] in 3 pixels, first at "
        "column 3, row 5; the nearest is [255, 0, 0], label 1");
}

TEST_CASE("files of labels, deep and lossy files have no colours for labels") {
  const Pixels grey = test::picture(mask_width, mask_height, 1);
  Pixels deep;
  for (const std::uint8_t v : painted(3))
    deep.insert(deep.end(), 2, v);
  Bytes palette = test::encode_png({.width = mask_width,
                                    .height = mask_height,
                                    .colour = PNG_COLOR_TYPE_PALETTE,
                                    .palette = std::vector<png_color>(256, png_color{255, 0, 0})},
                                   grey, mask_width);
  for (const Bytes& file :
       {png(grey, PNG_COLOR_TYPE_GRAY), palette, png(deep, PNG_COLOR_TYPE_RGB, 16),
        test::encode_jpeg({.width = mask_width, .height = mask_height}, painted(3)),
        test::encode_tiff({.width = mask_width,
        .height = mask_height,
        .compression = COMPRESSION_JPEG,
        .rows_per_strip = 8},
                          painted(3)),
        test::encode_tiff({.width = mask_width,
        .height = mask_height,
        .samples = 1,
        .photometric = PHOTOMETRIC_MINISBLACK},
                          grey)})
    CHECK(contains(colour_failure(file),
                   "mask_colours need a file that keeps 8-bit red, green and blue"));
}

TEST_CASE("the decoder takes colours for all masks and refuses one that comes twice") {
  const Schema files{FieldSpec::ragged("image", DType::uint8, 90000),
                     FieldSpec::ragged("mask", DType::uint8, 90000)};
  DecodeImage decode{
      .crop = WholeImage{mask_height, mask_width}, .masks = {"mask"}, .mask_colours = colours};
  CHECK(decode.schema(files).at("mask") ==
        FieldSpec::fixed("mask", DType::uint8, Shape{mask_height, mask_width}));
  Sample sample;
  for (const char* field : {"image", "mask"}) {
    const Bytes file = png(painted(3));
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    sample.set(field, Tensor::of(bytes, Shape{static_cast<std::int64_t>(file.size())}));
  }
  Random random(RandomKey{});
  decode(sample, random);
  const auto labels = sample["mask"].values<std::uint8_t>();
  const auto wanted = classes();
  CHECK(std::equal(labels.begin(), labels.end(), wanted.begin(), wanted.end()));
  decode.mask_colours.push_back({255, 0, 0, 7});
  CHECK(contains(test::message_of<ConfigError>([&] { decode.schema(files); }),
                 "mask_colours: [255, 0, 0] must come once, came twice"));
}

TEST_CASE("a palette file keeps its indices, as in VOC with 255 for what is ignored") {
  Pixels indices = test::picture(mask_width, mask_height, 1);
  for (std::uint8_t& index : indices)
    index = index > 230 ? 255 : index % 21;
  std::vector<png_color> palette(256, png_color{224, 224, 192});
  for (std::size_t i = 0; i < 21; ++i)
    palette[i] = {static_cast<std::uint8_t>(i * 12), 0, 128};
  const Bytes file = test::encode_png({.width = mask_width,
                                       .height = mask_height,
                                       .colour = PNG_COLOR_TYPE_PALETTE,
                                       .palette = palette},
                                      indices, mask_width);
  ImageDecoder& decoder = ImageDecoder::this_thread();
  decoder.open(file);
  std::vector<std::uint8_t> labels(indices.size());
  decoder.decode_labels(
      {0, 0, mask_width, mask_height, {.width = mask_width, .height = mask_height}},
      {.labels = labels.data(), .height = mask_height, .width = mask_width});
  CHECK(labels == indices);
  CHECK_FALSE(decoder.keeps_colours());
}
