#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/damaged_photographs.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;
namespace fs = std::filesystem;

void write(const fs::path& path, const headrace::test::Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Two classes of photographs.
void make_images(const fs::path& root, int count, int width = 120, int height = 90) {
  for (int i = 0; i < count; ++i) {
    write(root / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(1000 + i) + ".jpg"),
          headrace::test::encode_jpeg(
              {.width = width, .height = height, .progressive = i % 2 == 0},
              headrace::test::picture(width, height, 3, static_cast<unsigned>(i))));
  }
}

void make_masks(const fs::path& root, int count, int width = 120, int height = 90) {
  for (int i = 0; i < count; ++i) {
    write(root / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(1000 + i) + ".png"),
          headrace::test::encode_png(
              {.width = width, .height = height, .colour = PNG_COLOR_TYPE_GRAY},
              headrace::test::Pixels(static_cast<std::size_t>(width * height), 1),
              static_cast<std::size_t>(width)));
  }
}

}  // namespace

TEST_CASE("images are packed, proven equal and read by a loader") {
  const TemporaryFolder folder;
  make_images(folder.path() / "data", 20);
  const Finished packed =
      run_headrace(folder.path(), {"pack", "images", "data", "data.pack", "--crop-index"});
  REQUIRE_MESSAGE(packed.status == 0, packed.err);
  CHECK(contains(packed.out, "data.pack: 20 images (20 crop-indexed)"));
  const Finished verified =
      run_headrace(folder.path(), {"pack", "verify", "data.pack", "data", "--crops", "8"});
  CHECK(verified.status == 0);
  CHECK(contains(verified.out, "160 crops compared with the originals, all right"));
  const Finished bench =
      run_headrace(folder.path(), {"bench", "loader",
                                   headrace::test::source_folder() + "/configs/loader/pack.yaml",
                                   "--set", "data.file=data.pack", "--set", "batch=4", "--set",
                                   "image.side=32", "--json", "bench.json"});
  REQUIRE_MESSAGE(bench.status == 0, bench.err);
  const auto json = nlohmann::json::parse(content_of(folder.path() / "bench.json"));
  CHECK(json.at("bytes") == json.at("samples").get<std::int64_t>() * (32 * 32 * 3 + 8));
}

TEST_CASE("a pack is copied to its stage first, a folder of pictures is told to be packed") {
  const TemporaryFolder folder;
  make_images(folder.path() / "data", 8);
  REQUIRE(run_headrace(folder.path(), {"pack", "images", "data", "data.pack"}).status == 0);
  fs::create_directory(folder.path() / "stage");
  const auto bench = [&](const std::string& data) {
    return run_headrace(
        folder.path(),
        {"bench", "loader", headrace::test::source_folder() + "/configs/loader/pack.yaml", "--set",
         "data=" + data, "--set", "batch=4", "--set", "image.side=32"});
  };
  const Finished good = bench("{source: pack, file: data.pack, stage: stage}");
  CHECK_MESSAGE(good.status == 0, good.err);
  CHECK(contains(good.err, "copied and checked"));
  CHECK(fs::is_empty(folder.path() / "stage"));
  const Finished missing = bench("{source: pack, file: data.pack, stage: nowhere}");
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "[stage] data.pack to nowhere"));
  const Finished many = bench("{source: images, folder: data, stage: stage}");
  CHECK(many.status == 2);
  CHECK(contains(many.err, "pack them first"));
}

TEST_CASE("a pack whose pixels are not the originals' is found out") {
  const TemporaryFolder folder;
  make_images(folder.path() / "data", 4);
  REQUIRE(
      run_headrace(folder.path(), {"pack", "images", "data", "data.pack", "--crop-index"}).status ==
      0);
  write(folder.path() / "data/cat/1002.jpg",
        headrace::test::encode_jpeg({.width = 120, .height = 90},
                                    headrace::test::picture(120, 90, 3, 99)));
  const Finished verified = run_headrace(folder.path(), {"pack", "verify", "data.pack", "data"});
  CHECK(verified.status == 3);
  CHECK(contains(verified.out, "1 wrong"));
  CHECK(contains(verified.err, "cat/1002.jpg: pixels of a crop are not those of the original"));
}

TEST_CASE("a killed packing goes on and ends in the same bytes") {
  const TemporaryFolder folder;
  make_images(folder.path() / "data", 60, 900, 700);
  const Words words{"pack", "images", "data", "data.pack", "--crop-index", "--threads", "2"};
  REQUIRE(run_headrace(folder.path(), {"pack", "images", "data", "whole.pack", "--crop-index"})
              .status == 0);
  const std::string whole = content_of(folder.path() / "whole.pack");
  for (const int signal : {SIGKILL, SIGTERM}) {
    fs::remove(folder.path() / "data.pack");
    StartedProgram program(headrace::test::headrace_program(), words, {.folder = folder.path()});
    const fs::path partial = folder.path() / "data.pack.partial";
    program.wait_until([&] {
      std::error_code gone;
      const auto bytes = fs::file_size(partial, gone);
      return !gone && bytes > 200'000;
    });
    program.signal(signal);
    const int status = program.wait();
    CHECK((status == 128 + signal || status == 143 || status == 0));
    const Finished rest = run_headrace(folder.path(), words);
    if (status != 0) {
      REQUIRE_MESSAGE(rest.status == 0, rest.err);
      // A kill may come before the first commit; an orderly stop commits.
      if (signal == SIGTERM)
        CHECK_MESSAGE(contains(rest.out, "of them from an earlier run"), rest.out);
      CHECK_FALSE(fs::exists(partial));
    }
    CHECK(content_of(folder.path() / "data.pack") == whole);
  }
}

TEST_CASE("pairs and manifests run through a loader, masks with their pictures") {
  const TemporaryFolder folder;
  make_images(folder.path() / "data", 8);
  make_masks(folder.path() / "masks", 8);
  std::ofstream manifest(folder.path() / "list.csv");
  manifest << "image,mask,label\n";
  for (int i = 0; i < 8; ++i) {
    const std::string name = (i % 2 == 0 ? "cat/" : "dog/") + std::to_string(1000 + i);
    manifest << "data/" << name << ".jpg,masks/" << name << ".png," << i % 2 << "\n";
  }
  manifest.close();
  const Words common{
      "bench",         "loader",  headrace::test::source_folder() + "/configs/loader/images.yaml",
      "--set",         "batch=4", "--set",
      "image.side=32", "--json",  "bench.json"};
  const auto bytes_a_sample = [&](const Words& more) -> std::int64_t {
    Words words = common;
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run_headrace(folder.path(), words);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    const auto json = nlohmann::json::parse(content_of(folder.path() / "bench.json"));
    return json.at("bytes").get<std::int64_t>() / json.at("samples").get<std::int64_t>();
  };
  CHECK(bytes_a_sample({"--set", "data={source: pairs, folder: data, masks: masks}"}) ==
        32 * 32 * 4);
  CHECK(bytes_a_sample({"--set", "data={source: manifest, file: list.csv}"}) == 32 * 32 * 4 + 8);
  CHECK(fs::exists(folder.path() / "runs/listings"));
  const Finished wrong =
      run_headrace(folder.path(), {"bench", "loader",
                                   headrace::test::source_folder() + "/configs/loader/images.yaml",
                                   "--set", "data={source: pack, file: list.csv, masks: masks}"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "data.source is pairs"));
}

TEST_CASE("inspect names every photograph of which libjpeg-turbo warns, and no undamaged one") {
  const TemporaryFolder folder;
  std::set<std::string> damaged;
  std::set<std::string> sound;
  for (const auto& photograph : headrace::test::photographs(96, 80)) {
    const std::string start = std::to_string(sound.size());
    sound.insert(start + "-sound.jpg");
    write(folder.path() / "data/photo" / (start + "-sound.jpg"), photograph.file);
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const auto file = headrace::test::damaged(photograph.file, seed);
      const auto plain = headrace::test::plain_verdict(file);
      if (plain.too_large || !plain.complains) continue;
      const std::string name = start + "-" + std::to_string(seed) + ".jpg";
      damaged.insert(name);
      write(folder.path() / "data/photo" / name, file);
    }
  }
  REQUIRE(damaged.size() > 80);
  const Finished finished =
      run_headrace(folder.path(), {"inspect", "data", "--sheet", "", "--json", "found.json"});
  REQUIRE_MESSAGE(finished.status == 3, finished.err);
  std::set<std::string> named;
  const auto json = nlohmann::json::parse(content_of(folder.path() / "found.json"));
  for (const auto& bad : json.at("bad"))
    named.insert(fs::path(bad.at("file").get<std::string>()).filename().string());
  CHECK(named == damaged);
  const Finished packed =
      run_headrace(folder.path(), {"pack", "images", "data", "data.pack", "--skip-bad"});
  CHECK(contains(packed.out, std::to_string(sound.size()) + " images, " +
                                 std::to_string(damaged.size()) + " bad ones left out"));
}

TEST_CASE("inspect counts, names bad files and draws a contact sheet") {
  const TemporaryFolder folder;
  make_images(folder.path() / "data", 9);
  const std::string good = content_of(folder.path() / "data/cat/1002.jpg");
  std::ofstream(folder.path() / "data/cat/1002.jpg", std::ios::binary) << good.substr(0, 700);
  std::ofstream(folder.path() / "data/dog/odd\x1b.png", std::ios::binary) << "nonsense";
  const Finished finished = run_headrace(
      folder.path(), {"inspect", "data", "--samples", "3", "--draws", "2", "--json", "found.json"});
  CHECK(finished.status == 3);
  CHECK(contains(finished.out, "10 of 10 looked at, 2 bad"));
  CHECK(contains(finished.out, "cat/1002.jpg: JPEG"));
  CHECK(contains(finished.out, "dog/odd\\x1b.png: "));
  const auto json = nlohmann::json::parse(content_of(folder.path() / "found.json"));
  CHECK(json.at("bad").size() == 2);
  CHECK(json.at("width").at("median") == 120);
  CHECK(json.at("classes").at(0).at("images") == 4);
  const std::string sheet = content_of(folder.path() / "inspect.png");
  REQUIRE(sheet.size() > 24);
  const auto side = [&sheet](std::size_t at) {
    int value = 0;
    for (std::size_t i = at; i < at + 4; ++i)
      value = value << 8 | static_cast<unsigned char>(sheet[i]);
    return value;
  };
  CHECK(sheet.substr(1, 3) == "PNG");
  CHECK(side(16) == 3 * 164 + 4);
  CHECK(side(20) == 3 * 164 + 4);
  make_images(folder.path() / "clean", 4);
  for (const char* name : {"clean/cat/phone.heic", "clean/cat/.hidden", "clean/readme.md"})
    std::ofstream(folder.path() / name) << "x";
  const std::vector<std::uint8_t> dim(std::size_t{8} * 8 * 2, 0x0f);
  const auto png = headrace::test::encode_png(
      {.width = 8, .height = 8, .bits = 16, .colour = PNG_COLOR_TYPE_GRAY}, dim, 16);
  std::ofstream(folder.path() / "clean/dog/deep", std::ios::binary)
      .write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  const Finished clean = run_headrace(folder.path(), {"inspect", "clean", "--sheet", ""});
  CHECK(clean.status == 0);
  CHECK(contains(clean.out, "5 of 5 looked at, 0 bad"));
  CHECK(contains(clean.out, "dim       1: 16 bits of which 12 are used become nearly black"));
  CHECK(contains(clean.err,
                 "left out: 1 .heic, 1 beside the class folders, 1 hidden; taken for their first "
                 "bytes: 1 without extension"));
}
