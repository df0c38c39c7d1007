// headrace pack volumes of a data set in nnU-Net's raw layout, as a person starts it.
#include <headrace/loaders/volume/nnunet_fingerprint.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

Finished pack(const TemporaryFolder& folder, const NnUNetRawFiles& files,
              const std::vector<std::string>& more) {
  std::vector<std::string> words{"pack", "volumes", files.path().string(), "out"};
  words.insert(words.end(), more.begin(), more.end());
  return run_headrace(folder.path(), words);
}

/// The least and the largest value of a channel of an image of int16.
std::pair<double, double> range_of(const fs::path& file, std::size_t channel) {
  const auto volume = open_volume(file);
  const VolumeInfo& info = volume->info();
  const std::vector<std::byte> bytes = whole_volume(*volume);
  std::vector<std::int16_t> stored(bytes.size() / 2);
  std::memcpy(stored.data(), bytes.data(), bytes.size());
  const auto voxels =
      static_cast<std::ptrdiff_t>(stored.size() / static_cast<std::size_t>(info.shape[0]));
  const auto first = stored.begin() + static_cast<std::ptrdiff_t>(channel) * voxels;
  const auto [low, high] = std::minmax_element(first, first + voxels);
  return {*low * info.scale + info.offset, *high * info.scale + info.offset};
}

}  // namespace

TEST_CASE("a data set's cases are prepared, and the second run keeps them") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  const Finished first = pack(folder, files, {"--spacing", "2", "1", "1", "--threads", "2"});
  REQUIRE_MESSAGE(first.status == 0, first.err);
  CHECK_MESSAGE(contains(first.out, "out: 4 cases, "), first.out);
  CHECK(contains(first.err, " of 4 cases ("));
  const fs::path image = folder / "out/case1.image.hrv";
  const VolumeInfo info = open_volume(image)->info();
  CHECK(info.shape == VolumeIndex{2, 14, 13, 16});
  CHECK(info.dtype == DType::int16);
  CHECK(open_volume(folder / "out/case3.label.hrv")->info().dtype == DType::uint8);
  const auto written = fs::last_write_time(image);
  fs::remove(folder / "out/case0.json");
  const Finished again = pack(folder, files, {"--spacing", "2", "1", "1"});
  CHECK(again.status == 0);
  CHECK_MESSAGE(contains(again.out, "out: 4 cases, 3 from an earlier run, "), again.out);
  CHECK(fs::last_write_time(image) == written);
  CHECK(!contains(again.err, "changed"));
  fs::last_write_time(files.label(1), fs::last_write_time(files.label(1)) + std::chrono::hours(1));
  const Finished changed = pack(folder, files, {"--spacing", "2", "1", "1"});
  CHECK(changed.status == 0);
  CHECK_MESSAGE(contains(changed.err, "1 files were changed since they were prepared"),
                changed.err);
  CHECK_MESSAGE(contains(changed.out, "3 from an earlier run, "), changed.out);
}

TEST_CASE("channels have schemes of their own; that of CT has the data set's numbers") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  const Finished packed = pack(folder, files, {"--normalize", "ct", "zero-to-one", "--no-crop"});
  REQUIRE_MESSAGE(packed.status == 0, packed.err);
  const NnUNetForegroundValues ct =
      nnunet_fingerprint(read_nnunet_raw(files.path())).intensity.front();
  for (const char* name : {"out/case0.image.hrv", "out/case2.image.hrv"}) {
    const VolumeInfo info = open_volume(folder / name)->info();
    CHECK(info.shape[1] == (contains(name, "case0") ? 9 : 11));
    const auto [low, high] = range_of(folder / name, 0);
    CHECK(low == doctest::Approx((ct.percentile_00_5 - ct.mean) / ct.std).epsilon(1e-4));
    CHECK(high == doctest::Approx((ct.percentile_99_5 - ct.mean) / ct.std).epsilon(1e-4));
    const auto [zero, one] = range_of(folder / name, 1);
    CHECK(std::abs(zero) < 1e-4);
    CHECK(one == doctest::Approx(1.0).epsilon(1e-4));
  }
}

TEST_CASE("labels that lie elsewhere than their images are named, whatever the schemes") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  VolumeInfo info = NnUNetRawFiles::info_of(2, DType::uint8);
  info.affine[3] += 10;
  NnUNetRawFiles::write<std::uint8_t>(
      files.label(2), info, [](std::int64_t z, std::int64_t, std::int64_t) { return z % 3; });
  for (const char* scheme : {"zscore", "zscore", "ct"}) {
    const Finished packed = pack(folder, files, {"--normalize", scheme});
    CHECK(packed.status == 0);
    CHECK_MESSAGE(contains(packed.err,
                           "pack: 1 cases have a channel or label whose header places it "
                           "elsewhere than the first channel (case2): look at one of them"),
                  packed.err);
  }
}

TEST_CASE("options that do not belong to a data set, or to nothing else, are refused") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more, const char* why) {
    const Finished packed = pack(folder, files, more);
    CHECK(packed.status == 2);
    CHECK_MESSAGE(contains(packed.err, why), packed.err);
  };
  refused({"--median"}, "prepared as a whole: --median must be left out");
  refused({"--each"}, "prepared as a whole: --each must be left out");
  refused({"--codec", "zstd"}, "prepared as a whole: --codec must be left out");
  refused({"--clip", "0", "1"}, "prepared as a whole: --clip must be left out");
  refused({"--normalize", "zscore", "ct", "none"}, "one for each of 2 channels, got 3");
  refused({"--normalize", "best"}, "best");
  refused({"--spacing", "1", "-1", "1"}, "spacing must be 0 or more mm");
  CHECK(!fs::exists(folder / "out"));
  const Finished inside = run_headrace(
      folder.path(), {"pack", "volumes", files.path().string(), files.path() / "labelsTr"});
  CHECK(inside.status == 2);
  CHECK(contains(inside.err, "OUTPUT must be a folder of its own"));
  const Finished alone = run_headrace(folder.path(), {"pack", "volumes", files.image(0, 0).string(),
                                                      "a.hrv", "--normalize", "zscore"});
  CHECK(alone.status == 2);
  CHECK_MESSAGE(contains(alone.err, "--normalize is for a data set"), alone.err);

  std::ofstream(files.image(2, 1)) << "no volume";
  const Finished damaged = pack(folder, files, {"--threads", "1"});
  CHECK(damaged.status == 3);
  CHECK_MESSAGE(contains(damaged.err, "case2_0001.nii.gz"), damaged.err);
  CHECK(fs::exists(folder / "out/case1.json"));
  CHECK(!fs::exists(folder / "out/case2.json"));
}

}  // namespace headrace::test
