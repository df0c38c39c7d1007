// Runs of preparing cases: what they keep, leave and refuse.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/tests/loaders/volume/prepared_volumes.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using Scheme = VolumeNormalization::Scheme;

/// Files and what is in them.
std::map<std::string, std::string> content(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    files[entry.path().filename()] = text.str();
  }
  return files;
}

}  // namespace

TEST_CASE("threads and memory change nothing of what is written") {
  const NnUNetRawFiles files;
  const VolumePreparation preparation{.spacing = {2, 1, 1},
                                      .channels = {{Scheme::zscore_nonzero}, {Scheme::zscore}}};
  std::map<std::string, std::string> first;
  for (const int threads : {1, 2, 8}) {
    const TemporaryFolder folder;
    PrepareOptions options = options_for(folder);
    options.threads = threads;
    CHECK(prepare_cases(cases_of(files), preparation, options).size() == 4);
    const auto made = content(options.folder);
    CHECK(made.size() == 12);
    if (first.empty()) first = made;
    CHECK(made == first);
  }
  const TemporaryFolder folder;
  PrepareOptions options = options_for(folder);
  options.memory = 1;
  const std::string message = refusal<ResourceError>(cases_of(files), preparation, options);
  REQUIRE(contains(message, "case \"case0\": needs "));
  CHECK(contains(message, "memory allows 1; give more"));
  CHECK(fs::is_empty(options.folder));
  const std::vector<NnUNetCase> one{cases_of(files).front()};
  options.memory = std::stoul(message.substr(message.find("needs ") + 6));
  CHECK(prepare_cases(one, preparation, options).size() == 1);
  for (const auto& [name, bytes] : content(options.folder))
    CHECK(bytes == first.at(name));
  --options.memory;
  fs::remove(options.folder / "case0.json");
  CHECK(contains(refusal<ResourceError>(one, preparation, options), "give more"));
}

TEST_CASE("cases that are prepared and unchanged are left, others made anew") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  PrepareOptions options = options_for(folder);
  std::vector<std::array<std::int64_t, 3>> calls;
  options.on_progress = [&](std::int64_t done, std::int64_t kept, std::int64_t cases) {
    calls.push_back({done, kept, cases});
  };
  using Calls = std::vector<std::array<std::int64_t, 3>>;
  const auto prepare = [&](const VolumePreparation& preparation) {
    calls.clear();
    return prepare_cases(cases_of(files), preparation, options);
  };
  CHECK(prepare({}).size() == 4);
  CHECK(calls == Calls{{1, 0, 4}, {2, 0, 4}, {3, 0, 4}, {4, 0, 4}});
  const auto before = content(options.folder);

  const auto kept = prepare({});
  CHECK(calls == Calls{{4, 4, 4}});
  REQUIRE(kept.size() == 4);
  CHECK(kept[2].extent == std::array<std::int64_t, 3>{9, 19, 19});
  CHECK(kept[2].crop_begin == std::array<std::int64_t, 3>{1, 3, 2});
  CHECK(kept[2].original_extent == std::array<std::int64_t, 3>{11, 24, 22});
  CHECK(kept[2].label == options.folder / "case2.label.hrv");

  fs::remove(options.folder / "case2.json");
  prepare({});
  CHECK(calls == Calls{{3, 3, 4}, {4, 3, 4}});
  fs::remove(options.folder / "case1.label.hrv");
  fs::resize_file(options.folder / "case3.image.hrv", 100);
  std::ofstream(options.folder / "case0.json") << "{\"prepared_case\": 1";
  prepare({});
  CHECK(calls == Calls{{1, 1, 4}, {2, 1, 4}, {3, 1, 4}, {4, 1, 4}});
  CHECK(content(options.folder) == before);

  fs::last_write_time(files.image(1, 1),
                      fs::last_write_time(files.image(1, 1)) + std::chrono::seconds(1));
  prepare({});
  CHECK(calls == Calls{{3, 3, 4}, {4, 3, 4}});
  prepare({.crop = false});
  CHECK(calls.front() == std::array<std::int64_t, 3>{1, 0, 4});
  options.values.push_back(3);
  prepare({.crop = false});
  CHECK(calls.front() == std::array<std::int64_t, 3>{1, 0, 4});
  CHECK(content(options.folder).size() == 12);
}

TEST_CASE("a run that is stopped leaves whole cases, and the next goes on") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  PrepareOptions options = options_for(folder);
  std::stop_source stop;
  options.stop = stop.get_token();
  options.on_progress = [&](std::int64_t done, std::int64_t, std::int64_t) {
    if (done == 2) stop.request_stop();
  };
  const auto some = prepare_cases(cases_of(files), {}, options);
  REQUIRE(some.size() == 2);
  CHECK(some[1].name == "case1");
  CHECK(content(options.folder).size() == 6);
  CHECK(prepare_cases(cases_of(files), {}, options).size() == 2);

  std::int64_t was_kept = -1;
  options.stop = {};
  options.on_progress = [&](std::int64_t, std::int64_t kept, std::int64_t) { was_kept = kept; };
  CHECK(prepare_cases(cases_of(files), {}, options).size() == 4);
  CHECK(was_kept == 2);
  const TemporaryFolder other;
  prepare_cases(cases_of(files), {}, options_for(other));
  CHECK(content(options.folder) == content(other / "out"));
}

TEST_CASE("a case that is stopped at any moment has a record once it is whole, not before") {
  const TemporaryFolder folder;
  const VolumeInfo info{.shape = {1, 64, 200, 200}};
  NnUNetRawFiles::write<std::uint8_t>(
      folder / "a.nii", info,
      [](std::int64_t z, std::int64_t y, std::int64_t x) { return (z * y + x) % 201; });
  const std::vector<NnUNetCase> one{{"a", {folder / "a.nii"}, folder / "a.nii"}};
  const VolumePreparation preparation{.spacing = {0.9, 0, 0}};
  PrepareOptions options{.folder = folder / "whole", .chunk = {16, 32, 32}};
  prepare_cases(one, preparation, options);
  const auto whole = content(options.folder);
  options.folder = folder / "stopped";
  for (const int milliseconds : {1, 5, 10, 20, 40, 80}) {
    std::stop_source stop;
    options.stop = stop.get_token();
    const std::jthread later([&stop, milliseconds] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      stop.request_stop();
    });
    const std::size_t made = prepare_cases(one, preparation, options).size();
    CHECK((made == 1) == fs::exists(options.folder / "a.json"));
    if (made == 1) CHECK(content(options.folder) == whole);
    fs::remove(options.folder / "a.json");
  }
  options.stop = {};
  CHECK(prepare_cases(one, preparation, options).size() == 1);
  CHECK(content(options.folder) == whole);
}

TEST_CASE("what does not fit is named, and nothing of that case is left") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  const PrepareOptions options = options_for(folder);
  const std::vector<NnUNetCase> one{cases_of(files)[1]};
  const auto refused = [&](const char* why) {
    const std::string message = refusal<DataError>(one, {}, options);
    CHECK_MESSAGE(contains(message, "[prepare volumes] case \"case1\": "), message);
    CHECK_MESSAGE(contains(message, why), message);
    CHECK(fs::is_empty(options.folder));
  };
  const auto zero = [](std::int64_t, std::int64_t, std::int64_t) { return 0; };
  VolumeInfo info = NnUNetRawFiles::info_of(1, DType::float32);
  NnUNetRawFiles::write<float>(files.image(1, 0), info, zero);
  NnUNetRawFiles::write<float>(files.image(1, 1), info, zero);
  refused("images must have a voxel that is not 0 in some channel, got none");
  NnUNetRawFiles::write<float>(files.image(1, 1), info,
                               [](std::int64_t z, std::int64_t, std::int64_t) {
                                 return z == 5 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
                               });
  refused("case1_0001.nii.gz: voxels must be numbers, got NaN or infinity");
  info.spacing[1] = 0.7;
  NnUNetRawFiles::write<float>(files.image(1, 1), info, zero);
  refused("case1_0001.nii.gz: must have the same spacing as");
  info = NnUNetRawFiles::info_of(1, DType::float32);
  ++info.shape[2];
  NnUNetRawFiles::write<float>(files.image(1, 1), info, zero);
  refused("case1_0001.nii.gz: must have the same shape as");
  fs::remove(files.image(1, 1));
  CHECK_THROWS_AS(prepare_cases(one, {}, options), ConfigError);
}

TEST_CASE("preparations and options that cannot be right are refused before anything is read") {
  const TemporaryFolder folder;
  const std::vector<NnUNetCase> one{{"a", {folder / "none.nii"}, {}}};
  const PrepareOptions options = options_for(folder);
  const auto refused = [&](const std::vector<NnUNetCase>& cases,
                           const VolumePreparation& preparation, const PrepareOptions& with,
                           const char* why) {
    const std::string message = refusal(cases, preparation, with);
    CHECK_MESSAGE(contains(message, why), message);
  };
  refused(one, {.spacing = {1, -1, 1}}, options, "spacing must be 0 or more mm, got -1");
  refused(one, {.channels = {{Scheme::ct, 4, 3}}}, options,
          "a low value and one that is not lower");
  refused(one, {.channels = {{Scheme::ct, 0, 1, 0, -1}}}, options, "deviation of at least 0");
  refused(one, {.channels = {{}, {}}}, options, "one for each of 1 channels, got 2");
  refused(one, {.channels = {}}, options, "got 0");
  refused(one, {}, {}, "a folder to write to must be named");
  PrepareOptions other = options;
  other.threads = 0;
  refused(one, {}, other, "threads must be 1 to 1024, got 0");
  other = options;
  other.chunk[2] = 2000;
  refused(one, {}, other, "1 to 1024 voxels, got 2000");
  other = options;
  other.values = {70000};
  refused(one, {}, other, "must fit 16 bits, got 70000");
  for (const char* name : {"", "../a", "a/b", ".a"})
    refused({{name, one[0].images, {}}}, {}, options, "a case's name must be");
  refused({one[0], one[0]}, {}, options, "got two of \"a\"");
  refused({{"a", {}, {}}}, {}, options, "must have an image");
  CHECK(!fs::exists(options.folder));
  other = options;
  other.folder = "/proc/none/out";
  CHECK(contains(refusal<ResourceError>(one, {}, other), "/proc/none/out: cannot be made"));
}

}  // namespace headrace::test
