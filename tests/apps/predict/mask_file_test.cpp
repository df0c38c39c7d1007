// Predicted masks as files, and where they go.
#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/predict/mask_file.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

constexpr int mask_width = 5;
constexpr int mask_height = 3;

// Every pixel one of three classes.
std::vector<std::uint8_t> classes() {
  std::vector<std::uint8_t> all;
  for (int i = 0; i < mask_width * mask_height; ++i)
    all.push_back(static_cast<std::uint8_t>(i % 3));
  return all;
}

std::vector<std::byte> written_png(const app::MaskFormat& format) {
  const std::vector<std::uint8_t> all = classes();
  return app::mask_png({.classes = all, .width = mask_width, .height = mask_height}, format);
}

// What the file stores.
std::vector<std::uint16_t> stored(const std::vector<std::byte>& png,
                                  const std::vector<MaskColour>& colours = {}) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(png);
  REQUIRE(header.shown_width() == mask_width);
  REQUIRE(header.shown_height() == mask_height);
  std::vector<std::uint16_t> values(mask_width * mask_height);
  decoder.decode_labels(
      {0, 0, mask_width, mask_height, {.width = mask_width, .height = mask_height}},
      {.labels = values.data(),
       .dtype = DType::uint16,
       .height = mask_height,
       .width = mask_width,
       .colours = colours});
  return values;
}

}  // namespace

TEST_CASE("a mask's file stores the value of each class, whatever kind of file it takes") {
  for (const std::vector<std::uint16_t>& values :
       std::vector<std::vector<std::uint16_t>>{{0, 1, 2}, {0, 255, 7}, {3, 300, 65535}}) {
    const std::vector<std::uint16_t> found = stored(written_png({.values = values}));
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(found[i] == values[i % 3]);
  }
  const app::MaskFormat in_colour{.colours = {{0, 0, 0}, {255, 0, 0}, {0, 10, 200}}};
  const std::vector<std::uint16_t> found =
      stored(written_png(in_colour), {{0, 0, 0, 0}, {255, 0, 0, 1}, {0, 10, 200, 2}});
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == i % 3);
  CHECK_THROWS_WITH_AS(written_png({.values = {0, 1}}), doctest::Contains("got class 2"),
                       ConfigError);
}

TEST_CASE("the classes of a mask have colours of their own") {
  std::set<std::vector<int>> colours;
  for (int label = 0; label < 256; ++label) {
    const app::Colour colour = app::class_colour(static_cast<std::uint8_t>(label));
    colours.insert(std::vector<int>{colour.red, colour.green, colour.blue});
  }
  CHECK(colours.size() == 256);
  const app::Colour voc = app::class_colour(11);  // PASCAL VOC's palette: the dining table
  CHECK((voc.red == 192 && voc.green == 128 && voc.blue == 0));
}

TEST_CASE("masks have the names and folders of their pictures, in a folder of their own") {
  const test::TemporaryFolder folder;
  const std::vector<std::byte> png = written_png({.values = {0, 1, 2}});
  app::MaskFolder masks(folder.path() / "out", false);
  masks.write("a/b/1.jpeg", png);
  masks.write("/data/2.tif", png);       // of a list that names whole paths
  masks.write("new\\x0aline.png", png);  // printable_name()
  CHECK(masks.count() == 3);
  CHECK(std::filesystem::exists(folder.path() / "out/new\nline.png"));
  CHECK(test::content_of(folder.path() / "out/a/b/1.png").size() == png.size());
  CHECK(std::filesystem::exists(folder.path() / "out/data/2.png"));
  CHECK_THROWS_WITH_AS(masks.write("a/b/1.bmp", png), doctest::Contains("a second one for a/b/1"),
                       DataError);
  CHECK_THROWS_WITH_AS(masks.write("a/../../1.bmp", png),
                       doctest::Contains("must lie below the folder"), DataError);

  CHECK_THROWS_WITH_AS(app::MaskFolder(folder.path() / "out", false),
                       doctest::Contains("--overwrite"), ConfigError);
  app::MaskFolder(folder.path() / "out", true).write("a/b/1.jpeg", png);
  std::ofstream(folder.path() / "file") << "text";
  CHECK_THROWS_WITH_AS(app::MaskFolder(folder.path() / "file", true),
                       doctest::Contains("must be a folder"), ConfigError);
  CHECK_THROWS_WITH_AS(app::MaskFolder(folder.path() / "new.csv", false),
                       doctest::Contains("must be a folder"), ConfigError);
}
