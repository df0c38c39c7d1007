// What of a folder is not used is counted and said; pictures are read whatever they are called.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/image_files.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/loaders/listing/split_folders.h>
#include <headrace/loaders/npy/npy_folder.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files_tiff.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

/// The first bytes of a JPEG and a PNG.
const std::string jpeg_start = "\xff\xd8\xff\xe0 and more", png_start = "\x89PNG\r\n\x1a\n more";

/// The line that says what was left out; empty: none.
struct LeftOut {
  std::string line;
  LogCallback callback() {
    return [this](LogLevel, std::string_view said) {
      for (const char* begin : {"left out: ", "taken for "})
        if (const std::size_t at = said.find(begin); at != std::string_view::npos && line.empty())
          line = said.substr(at);
    };
  }
};

std::string left_out(const fs::path& data, const fs::path& cache = {}) {
  LeftOut said;
  ImageFolder(data, {.listing = {.cache = cache, .log = said.callback()}});
  return said.line;
}

}  // namespace

TEST_CASE("files that are not used are counted by extension and reason, kept listings too") {
  const TemporaryFolder root;
  const fs::path data = root / "data";
  for (const char* name : {"a/1.jpg", "a/2.JFIF", "a/3.jpe", "b/1.png"})
    make_file(data / name, "x");
  CHECK(left_out(data).empty());
  for (const char* name :
       {"a/phone.heic", "a/deep/other.HEIC", "a/arrays.npz", "b/none", "b/.DS_Store", "a/._1.jpg",
        "b/.ipynb_checkpoints/1-checkpoint.jpg", "__MACOSX/a/._1.jpg", "beside.jpg", "notes.txt"})
    make_file(data / name, "x");
  const std::string wanted =
      "left out: 4 hidden, 2 .heic, 2 beside the class folders, 1 .npz, 1 without extension";
  CHECK(left_out(data) == wanted);
  for (const auto& entry : fs::recursive_directory_iterator(data))
    if (entry.is_directory())
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::minutes(1));
  fs::last_write_time(data, fs::file_time_type::clock::now() - std::chrono::minutes(1));
  CHECK(left_out(data, root / "kept") == wanted);
  REQUIRE(fs::exists(root / "kept"));
  CHECK(left_out(data, root / "kept") == wanted);
}

TEST_CASE("what begins as a JPEG or PNG is read, whatever it is called") {
  const TemporaryFolder root;
  make_file(root / "a/none", jpeg_start);
  make_file(root / "a/two.dots.bak", png_start);
  make_file(root / "a/scan.dat", "II*" + std::string(20, '\0'));
  make_file(root / "a/empty", "");
  make_file(root / "b/1.jpg", "x");
  LeftOut said;
  const ImageFolder folder(root.path(), {.listing = {.log = said.callback()}});
  REQUIRE(folder.size() == 3);
  CHECK(folder.origin(0) == "a/none");
  CHECK(folder.origin(1) == "a/two.dots.bak");
  CHECK(said.line ==
        "left out: 1 .dat, 1 without extension; taken for their first bytes: 1 .bak, 1 without "
        "extension");
  CHECK(ImageFiles(root / "a/none").size() == 1);
  CHECK_THROWS_WITH_AS(ImageFiles(root / "a/scan.dat"),
                       doctest::Contains("by its extension or first bytes"), ConfigError);
}

TEST_CASE("of an extension without pictures only the first hundreds are looked into") {
  const TemporaryFolder root;
  make_file(root / "a/0.jpg", "x");
  for (int i = 1000; i < 1300; ++i)
    make_file(root / ("a/" + std::to_string(i) + ".txt"), "x");
  make_file(root / "a/1100.txt", jpeg_start);
  make_file(root / "a/1299.txt", jpeg_start);
  for (int i = 0; i < 300; ++i)
    make_file(root / ("a/many" + std::to_string(i) + ".x" + std::to_string(i)), "x");
  CHECK(left_out(root.path()) ==
        "left out: 299 .txt, 45 of other names, 1 .x0, 1 .x1, 1 .x10, 1 .x100, 1 .x101, 1 .x102, "
        "249 of other kinds; taken for their first bytes: 1 .txt");
}

TEST_CASE("pairs count both folders, and names without an extension find their masks") {
  const TemporaryFolder root;
  make_file(root / "images.v1/p", jpeg_start);
  make_file(root / "images.v1/q.jpg", "x");
  make_file(root / "masks/p.png", "x");
  make_file(root / "masks/q", png_start);
  make_file(root / "masks/index.csv", "x");
  make_file(root / "images.v1/deep.er/r", jpeg_start);
  make_file(root / "masks/deep.er/r.png", "x");
  LeftOut said;
  const ImagePairs pairs(
      {.images = root / "images.v1", .masks = root / "masks", .listing = {.log = said.callback()}});
  CHECK(pairs.size() == 3);
  CHECK(said.line == "left out: 1 .csv; taken for their first bytes: 3 without extension");
}

TEST_CASE("a class folder without pictures says what it holds, and nothing advises to remove it") {
  const TemporaryFolder root;
  make_file(root / "a/1.jpg", "x");
  make_file(root / "notes/read me.txt", "x");
  make_file(root / "notes/.hidden", "x");
  CHECK_THROWS_WITH_AS(
      ImageFolder(root.path()),
      doctest::Contains("notes: class folder must hold an image, got none (left out: 1 .txt, 1 "
                        "hidden); fill it, or move it out of the folder of classes"),
      ConfigError);
  CHECK_THROWS_WITH_AS(ImageFiles(root / "notes"),
                       doctest::Contains("must hold an image, got none (left out: 1 .txt, 1"),
                       ConfigError);
}

TEST_CASE("leavings of other systems are no split") {
  const TemporaryFolder root;
  for (const char* name : {"train/a/1.jpg", "val/a/1.jpg", "__MACOSX/train/a/._1.jpg"})
    make_file(root / name, "x");
  CHECK(split_folders(root.path()).has_value());
}

TEST_CASE("a folder of arrays counts what it leaves out") {
  const TemporaryFolder root;
  for (const char* name : {"a/1.npy", "b/1.npy"})
    write_array<float>(root / name, "2,", std::vector<float>{1, 2});
  make_file(root / "a/2.npz", "x");
  make_file(root / "b/.3.npy", "x");
  LeftOut said;
  const NpyFolder folder(root.path(), {.log = said.callback()});
  CHECK(folder.size() == 2);
  CHECK(said.line == "left out: 1 .npz, 1 hidden");
}

TEST_CASE("checking a picture of 16 bits tells how bright it is") {
  ImageDecoder decoder;
  const auto checked = [&](int bits, std::uint8_t high, std::uint8_t low) {
    Pixels rows(std::size_t{40} * 30 * static_cast<std::size_t>(bits) / 8);
    for (std::size_t i = 0; i < rows.size(); i += 2)
      rows[i] = high, rows[i + 1] = low;
    return decoder.check(
        encode_tiff({.bits = bits, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK}, rows));
  };
  CHECK(checked(16, 0x0f, 0xff).brightest == 16);
  CHECK(checked(16, 0xff, 0xff).brightest == 255);
  CHECK(checked(8, 1, 2).brightest == 255);
  CHECK(checked(16, 0x0f, 0xff).bits == 16);
}

}  // namespace headrace::test
