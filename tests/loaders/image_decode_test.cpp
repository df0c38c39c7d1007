#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/resize_image.h>
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
using headrace::test::farthest;
using headrace::test::Pixels;

namespace {

// Made with torchvision 0.26.0 (transforms.v2.functional on a uint8 tensor) from picture(40, 30,
// 3): resize(p, [7, 9], antialias=True), resize(p, [7, 9], antialias=False), center_crop(resize(p,
// [12], antialias=True), [6, 8]) and resized_crop(p, top=3, left=4, height=20, width=25, size=[6,
// 5], antialias=True).
const Pixels resized = {
    113, 114, 113, 137, 146, 153, 163, 181, 198, 190, 216, 234, 216, 239, 222, 236, 223, 179, 234,
    187, 136, 159, 147, 134, 76,  137, 199, 150, 143, 137, 175, 175, 175, 203, 211, 220, 227, 237,
    235, 237, 226, 201, 224, 191, 157, 168, 153, 137, 97,  139, 183, 103, 167, 226, 194, 178, 163,
    219, 211, 203, 237, 236, 238, 233, 226, 218, 211, 193, 174, 164, 153, 144, 111, 139, 167, 123,
    167, 213, 147, 200, 241, 233, 212, 187, 238, 237, 226, 221, 227, 234, 194, 194, 193, 159, 154,
    149, 125, 138, 153, 141, 166, 195, 166, 202, 233, 189, 233, 228, 228, 237, 214, 207, 229, 238,
    179, 195, 211, 153, 155, 160, 137, 137, 137, 155, 165, 176, 182, 200, 219, 208, 233, 237, 231,
    236, 205, 186, 226, 234, 162, 196, 227, 144, 158, 171, 149, 139, 127, 171, 164, 156, 198, 199,
    202, 223, 230, 237, 237, 234, 218, 230, 206, 179, 148, 198, 238, 132, 162, 190, 154, 135, 115,
    182, 159, 136, 209, 195, 179, 232, 228, 224, 238, 236, 236, 220, 210, 197, 195, 177, 155};
const Pixels resized_plainly = {
    109, 109, 109, 138, 143, 147, 159, 179, 196, 186, 217, 238, 213, 247, 225, 239, 223, 186, 243,
    188, 138, 219, 156, 92,  67,  134, 207, 144, 139, 139, 169, 174, 174, 202, 212, 220, 222, 241,
    249, 251, 225, 201, 230, 191, 159, 202, 154, 107, 85,  132, 190, 107, 173, 232, 190, 179, 161,
    221, 207, 204, 245, 242, 247, 236, 226, 221, 209, 193, 178, 188, 157, 134, 94,  130, 168, 126,
    172, 209, 151, 210, 253, 236, 210, 182, 247, 247, 223, 220, 228, 240, 194, 194, 196, 165, 158,
    148, 110, 137, 149, 140, 167, 196, 166, 202, 238, 192, 236, 223, 236, 240, 210, 206, 237, 253,
    175, 197, 207, 155, 158, 170, 124, 134, 127, 148, 167, 171, 182, 201, 220, 203, 238, 249, 238,
    236, 202, 184, 230, 229, 161, 195, 225, 137, 163, 188, 141, 131, 115, 169, 164, 150, 197, 202,
    205, 223, 229, 245, 246, 233, 224, 227, 204, 172, 145, 198, 244, 118, 164, 205, 159, 129, 94,
    190, 160, 141, 214, 201, 182, 242, 233, 228, 243, 236, 240, 218, 208, 192, 188, 171, 145};
const Pixels resized_and_cropped = {
    228, 230, 237, 241, 244, 244, 246, 236, 225, 238, 219, 198, 224, 199, 175, 208, 179, 149,
    179, 155, 132, 110, 131, 148, 244, 245, 246, 239, 236, 235, 228, 218, 209, 214, 199, 182,
    199, 178, 160, 172, 155, 138, 115, 128, 146, 101, 135, 170, 233, 238, 242, 216, 218, 220,
    201, 199, 193, 188, 177, 167, 164, 156, 144, 118, 130, 138, 113, 135, 160, 127, 154, 187,
    208, 217, 230, 193, 198, 205, 178, 179, 180, 158, 154, 149, 126, 125, 133, 123, 136, 150,
    137, 156, 176, 152, 176, 200, 182, 198, 213, 171, 177, 191, 153, 155, 157, 128, 129, 126,
    131, 134, 140, 145, 155, 165, 160, 174, 192, 176, 194, 215, 158, 178, 198, 144, 152, 166,
    134, 129, 122, 141, 134, 130, 158, 155, 153, 172, 176, 181, 185, 194, 206, 202, 215, 231};
const Pixels crop_resized = {
    162, 166, 169, 190, 203, 215, 220, 237, 234, 239, 226, 195, 231, 190, 149, 193, 189, 188,
    221, 225, 230, 240, 236, 224, 228, 203, 176, 190, 163, 138, 226, 218, 209, 240, 239, 238,
    225, 215, 206, 192, 175, 158, 127, 136, 147, 241, 238, 227, 222, 227, 232, 191, 189, 185,
    145, 145, 144, 123, 143, 165, 218, 237, 239, 190, 202, 216, 157, 159, 161, 132, 136, 143,
    153, 167, 185, 187, 213, 238, 159, 176, 195, 139, 136, 135, 156, 155, 155, 182, 191, 202};

Pixels decoded(const DecodeImage& op, const Bytes& file, std::int64_t position = 0) {
  Sample sample;
  sample.set("image", as_tensor(file));
  Random random(RandomKey{.seed = 4, .position = position});
  op(sample, random);
  const Tensor& image = sample["image"];
  const auto [height, width] = size_of(op.crop);
  REQUIRE(image.shape() == Shape{height, width, 3});
  return {image.data<std::uint8_t>(), image.data<std::uint8_t>() + image.elements()};
}

std::string failure(const DecodeImage& op, const Bytes& file) {
  try {
    decoded(op, file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

/// The shown picture, from where EXIF says the stored first row and first column are seen.
Pixels shown(const Pixels& stored, int width, int height, int orientation) {
  const int shown_width = orientation >= 5 ? height : width;
  Pixels out(stored.size());
  for (int sy = 0; sy < height; ++sy) {
    for (int sx = 0; sx < width; ++sx) {
      int x = 0;
      int y = 0;
      switch (orientation) {
        case 1:
          x = sx;
          y = sy;
          break;  // row 0 top, column 0 left
        case 2:
          x = width - 1 - sx;
          y = sy;
          break;  // top, right
        case 3:
          x = width - 1 - sx;
          y = height - 1 - sy;
          break;  // bottom, right
        case 4:
          x = sx;
          y = height - 1 - sy;
          break;  // bottom, left
        case 5:
          x = sy;
          y = sx;
          break;  // left, top
        case 6:
          x = height - 1 - sy;
          y = sx;
          break;  // right, top
        case 7:
          x = height - 1 - sy;
          y = width - 1 - sx;
          break;  // right, bottom
        default:
          x = sy;
          y = width - 1 - sx;
          break;  // left, bottom
      }
      std::copy_n(stored.data() + 3 * (sy * width + sx), 3, out.data() + 3 * (y * shown_width + x));
    }
  }
  return out;
}

Pixels mirrored(const Pixels& pixels, int width) {
  Pixels out = pixels;
  const int count = static_cast<int>(pixels.size()) / 3;
  for (int i = 0; i < count; ++i) {
    const int from = i / width * width + width - 1 - i % width;
    std::copy_n(pixels.data() + 3 * from, 3, out.data() + 3 * i);
  }
  return out;
}

/// 24-bit Windows bitmap, bottom row first.
Bytes encode_bmp(int width, int height, const Pixels& rgb) {
  const int row = (3 * width + 3) / 4 * 4;
  std::vector<unsigned char> file(static_cast<std::size_t>(54 + row * height), 0);
  const auto put = [&](std::size_t at, unsigned v) {
    for (std::size_t i = 0; i < 4; ++i)
      file[at + i] = static_cast<unsigned char>(v >> (8 * i));
  };
  file[0] = 'B';
  file[1] = 'M';
  put(2, static_cast<unsigned>(file.size()));
  put(10, 54);
  put(14, 40);
  put(18, static_cast<unsigned>(width));
  put(22, static_cast<unsigned>(height));
  put(26, 1U | 24U << 16);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        file[static_cast<std::size_t>(54 + (height - 1 - y) * row + 3 * x + c)] =
            rgb[static_cast<std::size_t>(3 * (y * width + x) + 2 - c)];
      }
    }
  }
  const auto* first = reinterpret_cast<const std::byte*>(file.data());
  return {first, first + file.size()};
}

}  // namespace

TEST_CASE("resizes and crops are within one level of torchvision's") {
  const Pixels pixels = test::picture(40, 30, 3);
  const Bytes png = test::encode_png({}, pixels, 120);
  CHECK(farthest(decoded({.crop = ResizeTo{7, 9}}, png), resized) <= 1);
  CHECK(farthest(decoded({.crop = ResizeTo{7, 9}, .resample = Resample::bilinear}, png),
                 resized_plainly) <= 1);
  CHECK(farthest(decoded({.crop = ResizedCenterCrop{12, 6, 8}}, png), resized_and_cropped) <= 1);
  Pixels crop;
  for (int y = 3; y < 23; ++y) {
    crop.insert(crop.end(), pixels.begin() + 3 * (40 * y + 4), pixels.begin() + 3 * (40 * y + 29));
  }
  const Bytes cut = test::encode_png({.width = 25, .height = 20}, crop, 75);
  CHECK(farthest(decoded({.crop = ResizeTo{6, 5}}, cut), crop_resized) <= 1);
}

TEST_CASE("a random crop decodes to the same bytes as cropping and resizing the whole picture") {
  const int width = 150;
  const int height = 113;
  const Bytes file =
      test::encode_jpeg({.width = width, .height = height}, test::picture(width, height, 3));
  const Pixels full = test::plain_decode(file);
  Pixels rgbx(static_cast<std::size_t>(width * height) * 4 + 128);
  for (int i = 0; i < width * height; ++i)
    std::copy_n(full.data() + 3 * i, 3, rgbx.data() + 4 * i);
  const RandomResizedCrop crop{32, 24};
  const DecodeImage op{.crop = crop, .flip = 0.5F, .prescale = false};
  int flips = 0;
  for (int i = 0; i < 200; ++i) {
    Random random(RandomKey{.seed = 4, .position = i});
    const ImageWindow window = place(crop, width, height, random);
    const bool flip = random.chance(0.5);
    flips += flip ? 1 : 0;
    const Region& r = window.bounds;
    Pixels wanted(32 * 24 * 3);
    resize_to_rgb({rgbx.data(), static_cast<std::size_t>(width) * 4, 0, 0},
                  {double(r.x), double(r.width), r.x, r.x + r.width, 24, flip},
                  {double(r.y), double(r.height), r.y, r.y + r.height, 32, false},
                  Resample::antialias, wanted.data());
    REQUIRE(decoded(op, file, i) == wanted);
  }
  CHECK(flips > 60);
  CHECK(flips < 140);
}

TEST_CASE("decoding at a smaller scale stays close to the full decode") {
  Pixels smooth;
  for (int i = 0; i < 400 * 300; ++i) {
    for (int c = 0; c < 3; ++c) {
      smooth.push_back(static_cast<std::uint8_t>(128 + 100 * std::sin(i % 400 * 0.02 + c) *
                                                           std::cos(i / 400 * 0.03)));
    }
  }
  const Bytes file = test::encode_jpeg({.width = 400, .height = 300}, smooth);
  const Pixels fast = decoded({.crop = ResizeTo{30, 40}}, file);
  const Pixels full = decoded({.crop = ResizeTo{30, 40}, .prescale = false}, file);
  CHECK(farthest(fast, full) <= 3);
  CHECK(fast != full);
}

TEST_CASE("all eight EXIF orientations are shown upright, flipped or not, whole or cropped") {
  const int width = 48;
  const int height = 32;
  const Bytes plain =
      test::encode_jpeg({.width = width, .height = height}, test::picture(width, height, 3));
  const Pixels stored = test::plain_decode(plain);
  for (int o = 1; o <= 8; ++o) {
    CAPTURE(o);
    const Bytes file = test::with_orientation(plain, o);
    const int across = o >= 5 ? height : width;
    const int down = o >= 5 ? width : height;
    const Pixels wanted = shown(stored, width, height, o);
    CHECK(decoded({.crop = WholeImage{down, across}}, file) == wanted);
    CHECK(decoded({.crop = ResizeTo{down, across}, .flip = 1.0F}, file) ==
          mirrored(wanted, across));
    // The middle, at full size.
    const Pixels middle = decoded({.crop = ResizedCenterCrop{32, 20, 16}}, file);
    for (int y = 0; y < 20; ++y) {
      const std::uint8_t* row =
          wanted.data() + 3 * (((down - 20) / 2 + y) * across + (across - 16) / 2);
      REQUIRE(std::equal(row, row + 48, middle.data() + 48 * y));
    }
  }
}

TEST_CASE("whole images must have the size asked for, and then keep their bytes") {
  const Bytes file = test::encode_jpeg({}, test::picture(64, 48, 3));
  CHECK(decoded({.crop = WholeImage{48, 64}}, file) == test::plain_decode(file));
  CHECK(failure({.crop = WholeImage{64, 48}}, file)
            .find("must be 64 x 48 (height x width), got 48 x 64") != std::string::npos);
}

TEST_CASE("random crops follow the stated distribution and stay inside the picture") {
  const RandomResizedCrop crop{};
  double area = 0;
  double log_ratio = 0;
  const int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    Random random(RandomKey{.seed = 9, .position = i});
    const ImageWindow w = place(crop, 6000, 6000, random);
    const Region& r = w.bounds;
    REQUIRE((r.x >= 0 && r.y >= 0 && r.x + r.width <= 6000 && r.y + r.height <= 6000));
    const double ratio = double(r.width) / r.height;
    REQUIRE((ratio > 0.748 && ratio < 1.336));
    log_ratio += std::log(ratio) / draws;
    area += w.width * w.height / 36e6 / draws;
  }
  // Large areas of unfit ratio are drawn again, so the mean lies a little under .54.
  CHECK(area > 0.47);
  CHECK(area < 0.54);
  CHECK(std::abs(log_ratio) < 0.02);
}

TEST_CASE("pictures that no crop fits give their central part") {
  Random random(RandomKey{.seed = 1});
  const RandomResizedCrop crop{.scale = {0.9, 1.0}};
  CHECK(place(crop, 1000, 100, random).bounds ==
        Region{.x = 433, .y = 0, .width = 133, .height = 100});
  CHECK(place(crop, 90, 1000, random).bounds ==
        Region{.x = 0, .y = 440, .width = 90, .height = 120});
  CHECK(place(crop, 1, 1, random).bounds == Region{.x = 0, .y = 0, .width = 1, .height = 1});
}

TEST_CASE("bitmaps go through the codec module, and broken ones are refused by name") {
  const Pixels pixels = test::picture(21, 13, 3);
  const Bytes file = encode_bmp(21, 13, pixels);
  CHECK(decoded({.crop = WholeImage{13, 21}}, file) == pixels);
  const Bytes cut(file.begin(), file.begin() + 200);
  CHECK(failure({.crop = WholeImage{13, 21}}, cut).find("BMP: ") == 0);
  Bytes huge = file;
  huge[20] = std::byte{1};
  huge[24] = std::byte{1};
  CHECK(failure({.crop = WholeImage{13, 21}}, huge).find("BMP: sides must be 1 to 65536") == 0);
}

TEST_CASE("the content decides the format, and what is no picture is refused") {
  const Bytes text(100, std::byte{'a'});
  CHECK(failure({.crop = ResizeTo{8, 8}}, text).find("must be JPEG, PNG, WebP, BMP or TIFF") !=
        std::string::npos);
  CHECK(failure({.crop = ResizeTo{8, 8}}, Bytes{}).find("got 0 bytes") != std::string::npos);
}

TEST_CASE("a failed decode leaves no pixels behind") {
  const Bytes file = test::encode_jpeg({.width = 64, .height = 64}, Pixels(64 * 64 * 3, 200));
  Bytes hollow(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() - 20));
  hollow.insert(hollow.end(), file.end() - 2, file.end());
  const DecodeImage op{.crop = WholeImage{64, 64}};
  Sample sample;
  Random random(RandomKey{});
  sample.set("image", as_tensor(file));
  op(sample, random);
  sample.set("image", as_tensor(hollow));
  CHECK_THROWS_AS(op(sample, random), DataError);
  const Tensor& image = sample["image"];
  for (std::uint8_t v : image.values<std::uint8_t>())
    REQUIRE(v == 0);
}

TEST_CASE("decode says what it makes of the schema and refuses what cannot be right") {
  const Schema in{FieldSpec::ragged("image", DType::uint8, 5000),
                  FieldSpec::fixed("label", DType::int64, Shape{})};
  const Schema out = DecodeImage{.crop = RandomResizedCrop{224, 200}}.schema(in);
  CHECK(out.at("image") == FieldSpec::fixed("image", DType::uint8, Shape{224, 200, 3}));
  CHECK(out.find("label") != nullptr);
  CHECK_THROWS_AS(DecodeImage{}.schema(in), ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizeTo{8, 8}, .flip = 1.5F}.schema(in)), ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = RandomResizedCrop{.scale = {0.5, 0.2}}}.schema(in)),
                  ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = RandomResizedCrop{.ratio = {0, 1}}}.schema(in)),
                  ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizedCenterCrop{100, 224, 224}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizeTo{8, 8}, .field = "picture"}.schema(in)),
                  ConfigError);
  CHECK_THROWS_AS((DecodeImage{.crop = ResizeTo{8, 8}, .field = "label"}.schema(in)), ConfigError);
}

TEST_CASE("resize works on decoded pictures of any number of channels") {
  const Pixels pixels = test::picture(40, 30, 3);
  Sample sample;
  sample.set("image", Tensor::of(std::span<const std::uint8_t>(pixels), Shape{30, 40, 3}));
  const Resize op{.height = 7, .width = 9};
  op(sample);
  const Tensor& image = sample["image"];
  CHECK(image.shape() == Shape{7, 9, 3});
  CHECK(farthest({image.data<std::uint8_t>(), image.data<std::uint8_t>() + image.elements()},
                 resized) <= 1);
  const Schema in{FieldSpec::fixed("image", DType::uint8, Shape{30, 40, 6})};
  CHECK(op.schema(in).at("image").shape == Shape{7, 9, 6});
  CHECK_THROWS_AS(op.schema(Schema{FieldSpec::fixed("image", DType::float32, Shape{30, 40, 6})}),
                  ConfigError);
}
