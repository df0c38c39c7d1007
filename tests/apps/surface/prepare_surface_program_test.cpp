// headrace prepare surface: small volumes of the names of Debian's, and those themselves where they
// have been fetched.
#include <headrace/apps/feed/debian_package.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t side = 40;

/// A ball of that value in a cube of 40 voxels, which is `outside` elsewhere.
void write_ball(const fs::path& file, int value, int outside) {
  VolumeInfo info{.shape = {1, side, side, side}};
  info.affine = {1, 0, 0, -20, 0, 1, 0, -30, 0, 0, 1, -40};
  std::vector<std::byte> voxels;
  for (std::int64_t z = 0; z < side; ++z)
    for (std::int64_t y = 0; y < side; ++y)
      for (std::int64_t x = 0; x < side; ++x) {
        const auto square = [](std::int64_t at) { return (at - 20) * (at - 20); };
        const bool in = square(z) + square(y) + square(x) <= 15 * 15;
        voxels.push_back(static_cast<std::byte>(in ? value : outside));
      }
  write_nifti(file, info, voxels);
}

/// Four small volumes of the names of Debian's.
struct Templates {
  TemporaryFolder folder;

  Templates() {
    write_ball(folder / "ch2.nii.gz", 100, 50);
    write_ball(folder / "ch2bet.nii.gz", 100, 0);
    write_ball(folder / "inia19-t1-brain.nii.gz", 90, 0);
    write_ball(folder / "inia19-NeuroMaps.nii.gz", 7, 0);
  }
};

Finished prepare(const TemporaryFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> words{"prepare", "surface"};
  words.insert(words.end(), more.begin(), more.end());
  return run_headrace(folder.path(), words);
}

std::map<int, std::int64_t> count_labels(const fs::path& file) {
  std::map<int, std::int64_t> counts;
  for (const std::byte label : whole_volume(*open_volume(file)))
    ++counts[std::to_integer<int>(label)];
  return counts;
}

std::map<int, std::int64_t> count_labels(const NnUNetRaw& raw) {
  std::map<int, std::int64_t> all;
  for (const NnUNetCase& one : raw.cases)
    for (const auto& [label, voxels] : count_labels(one.label))
      all[label] += voxels;
  return all;
}

}  // namespace

TEST_CASE("prepare surface writes a data set of four cases and one to test, and keeps it") {
  const Templates templates;
  const TemporaryFolder folder;
  const std::vector<std::string> words{"out/data", "--templates", templates.folder.path()};
  const Finished first = prepare(folder, words);
  REQUIRE_MESSAGE(first.status == 0, first.err);
  const NnUNetRaw raw = read_nnunet_raw(folder / "out/data");
  REQUIRE(raw.cases.size() == 4);
  CHECK(raw.ignore == 2);
  CHECK(raw.values() == std::vector<std::int64_t>{0, 1, 2});
  REQUIRE(raw.test.size() == 1);
  CHECK(fs::exists(raw.folder / "labelsTs/inia19.nii.gz"));
  CHECK(contains(content_of(raw.folder / "README.txt"), templates.folder.path().string()));

  // The parts are the whole head, each where it was.
  const std::vector<std::byte> whole = whole_volume(*open_volume(templates.folder / "ch2.nii.gz"));
  std::vector<bool> there(whole.size());
  for (const NnUNetCase& one : raw.cases) {
    const auto part = open_volume(one.images.front());
    const VolumeInfo& info = part->info();
    CHECK(info.shape == VolumeIndex{1, 20, 20, 40});
    CHECK(open_volume(one.label)->info().affine == info.affine);
    const std::vector<std::byte> voxels = whole_volume(*part);
    for (std::size_t i = 0; i < voxels.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const auto z = at / 800 + static_cast<std::int64_t>(info.affine[11]) + 40;
      const auto y = at / 40 % 20 + static_cast<std::int64_t>(info.affine[7]) + 30;
      const auto place = static_cast<std::size_t>((z * 40 + y) * 40 + at % 40);
      REQUIRE(voxels[i] == whole.at(place));
      REQUIRE(!there[place]);
      there[place] = true;
    }
  }
  CHECK(std::count(there.begin(), there.end(), false) == 0);

  const auto written = fs::last_write_time(raw.cases[0].label);
  const Finished again = prepare(folder, words);
  CHECK(again.status == 0);
  CHECK(contains(again.err, "kept"));
  CHECK(fs::last_write_time(raw.cases[0].label) == written);
}

TEST_CASE(
    "prepare surface divides the head by the plane in its middle, too, and all of a test counts") {
  const Templates templates;
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, {"data", "--templates", templates.folder.path()}).status == 0);
  const std::vector<std::byte> whole = whole_volume(*open_volume(templates.folder / "ch2.nii.gz"));
  std::vector<int> seen(whole.size());
  for (const char* set : {"train", "validation", "test"}) {
    CAPTURE(set);
    const NnUNetRaw raw = read_nnunet_raw(folder / "data/halves" / set);
    CHECK(raw.ignore == 2);
    CHECK(raw.cases.size() == (std::string(set) == "train" ? 2 : 1));
    CHECK((count_labels(raw).count(2) > 0) == (std::string(set) == "train"));
    for (const NnUNetCase& one : raw.cases) {
      const auto part = open_volume(one.images.front());
      const VolumeInfo& info = part->info();
      const std::vector<std::byte> voxels = whole_volume(*part);
      for (std::size_t i = 0; i < voxels.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const std::int64_t row = at / info.shape[3];
        const auto z = row / info.shape[2] + static_cast<std::int64_t>(info.affine[11]) + 40;
        const auto x = at % info.shape[3] + static_cast<std::int64_t>(info.affine[3]) + 20;
        const auto place = static_cast<std::size_t>((z * 40 + row % info.shape[2]) * 40 + x);
        REQUIRE(voxels[i] == whole.at(place));
        ++seen[place];
      }
    }
  }
  CHECK(std::count(seen.begin(), seen.end(), 1) == std::ssize(seen));
}

TEST_CASE("prepare surface makes anew what another recipe made, or what was changed") {
  const Templates templates;
  const TemporaryFolder folder;
  const std::vector<std::string> words{"data", "--templates", templates.folder.path(), "--ignored",
                                       "0"};
  REQUIRE(prepare(folder, words).status == 0);
  const NnUNetRaw raw = read_nnunet_raw(folder / "data");
  const auto plain = count_labels(raw);
  CHECK(plain.count(2) == 0);
  CHECK(plain == count_labels(raw.folder / "labelsTs/inia19.nii.gz"));  // of the same ball
  const std::string before = content_of(raw.cases[3].label);

  std::ofstream(raw.cases[3].label) << "changed";
  REQUIRE(prepare(folder, words).status == 0);
  CHECK(content_of(raw.cases[3].label) == before);
  REQUIRE(prepare(folder, {"data", "--templates", templates.folder.path(), "--ignored", "0.5"})
              .status == 0);
  const auto ignored = count_labels(raw);
  CHECK(ignored.at(2) > 40 * 40 * 40 / 5);
  CHECK(ignored.at(1) < plain.at(1));
}

TEST_CASE("prepare surface leaves other folders alone and names what is missing") {
  const Templates templates;
  const TemporaryFolder folder;
  fs::create_directories(folder / "mine");
  std::ofstream(folder / "mine/dataset.json") << "{}";
  const Finished other = prepare(folder, {"mine", "--templates", templates.folder.path()});
  CHECK(other.status == 2);
  CHECK(contains(other.err, "mine must be empty, or made by prepare surface"));
  CHECK(content_of(folder / "mine/dataset.json") == "{}");
  fs::remove(templates.folder / "ch2bet.nii.gz");
  const Finished missing = prepare(folder, {"data", "--templates", templates.folder.path()});
  CHECK(missing.status == 3);
  CHECK(contains(missing.err, "ch2bet.nii.gz"));
  CHECK(!fs::exists(folder / "data"));
}

TEST_CASE("the surface of Debian's head and of its macaque has the voxels that are known of it") {
  if (!fs::exists(app::cache_folder() / "mricron-data-d40aa0ed66cf"))
    return skip("needs mricron-data in the cache; headrace prepare surface fetches it");
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, {"--ignored", "0"}).status == 0);
  const NnUNetRaw raw = read_nnunet_raw(folder / "surface");
  auto counts = count_labels(raw);
  CHECK(counts.at(0) + counts.at(1) == 181 * 217 * 181);
  CHECK(counts.at(1) == 298'154);  // of 102,435 voxels, grown once
  counts = count_labels(raw.folder / "labelsTs/inia19.nii.gz");
  CHECK(counts.at(0) + counts.at(1) == 128 * 206 * 168);
  CHECK(counts.at(1) == 209'652);
  CHECK(contains(content_of(raw.folder / "copyright.txt"), "Chris Rorden"));

  REQUIRE(prepare(folder, {}).status == 0);
  counts = count_labels(raw);
  const double all = 181 * 217 * 181;
  CHECK(static_cast<double>(counts.at(1)) / all == doctest::Approx(0.035).epsilon(0.14));
  CHECK(static_cast<double>(counts.at(2)) / all == doctest::Approx(0.2).epsilon(0.15));
}

}  // namespace headrace::test
