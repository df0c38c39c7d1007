// headrace pack volumes, as a person starts it.
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> voxels_of_test(const VolumeIndex& shape) {
  std::vector<std::byte> voxels;
  for (std::int64_t i = 0; i < shape[1] * shape[2] * shape[3]; ++i)
    voxels.push_back(static_cast<std::byte>(i * i % 251));
  return voxels;
}

constexpr VolumeIndex shape{1, 20, 30, 70};

void write_volume(const fs::path& file) {
  VolumeInfo info{.shape = shape, .block = shape, .spacing = {2.0, 1.0, 0.5}};
  info.affine = {0.5, 0, 0, 1, 0, 1, 0, 2, 0, 0, 2, 3};
  write_nifti(file, info, voxels_of_test(shape));
}

}  // namespace

TEST_CASE("a volume becomes a chunk store of the same voxels, and the second run begins anew") {
  const TemporaryFolder folder;
  write_volume(folder / "a.nii.gz");
  for (int i = 0; i < 2; ++i) {
    const Finished packed = run_headrace(
        folder.path(),
        {"pack", "volumes", "a.nii.gz", "a.hrv", "--chunk", "16", "16", "32", "--codec", "zstd"});
    REQUIRE_MESSAGE(packed.status == 0, packed.err);
    CHECK(contains(packed.out, "a.hrv: 1 x 20 x 30 x 70 voxels"));
  }
  const auto volume = open_volume(folder / "a.hrv");
  CHECK(volume->info().block == VolumeIndex{1, 16, 16, 32});
  CHECK(volume->info().spacing[0] == doctest::Approx(2.0));
  CHECK(whole_volume(*volume) == voxels_of_test(shape));
}

TEST_CASE("every volume of a folder is converted, filtered and resampled where that is asked for") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "in");
  write_volume(folder / "in/a.nii.gz");
  write_volume(folder / "in/b.nii");
  const Finished packed = run_headrace(
      folder.path(), {"pack", "volumes", "in", "out", "--each", "--median", "--spacing", "1", "1",
                      "1", "--dtype", "int16", "--clip", "10", "200"});
  REQUIRE_MESSAGE(packed.status == 0, packed.err);
  for (const char* name : {"out/a.hrv", "out/b.hrv"}) {
    const auto volume = open_volume(folder / name);
    CHECK(volume->info().shape == VolumeIndex{1, 40, 30, 35});
    CHECK(volume->info().dtype == DType::int16);
    const std::vector<std::byte> bytes = whole_volume(*volume);
    const auto* values = reinterpret_cast<const std::int16_t*>(bytes.data());
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
      const double value = values[i] * volume->info().scale + volume->info().offset;
      REQUIRE(value >= 10.0 - 1e-6);
      REQUIRE(value <= 200.0 + 1e-6);
    }
  }
}

TEST_CASE(
    "a folder may be converted again into a folder of its own, past what lies beside volumes") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "in");
  write_volume(folder / "in/a.nii");
  std::ofstream(folder / "in/dataset.json") << "{}";
  std::ofstream(folder / "in/a.nii.headrace-foreground") << "none";
  for (int i = 0; i < 2; ++i) {
    const Finished packed =
        run_headrace(folder.path(), {"pack", "volumes", "in", "in/packed", "--each"});
    CHECK_MESSAGE(packed.status == 0, packed.err);
  }
  CHECK(whole_volume(*open_volume(folder / "in/packed/a.hrv")) == voxels_of_test(shape));
}

TEST_CASE("a store begun of one volume is not gone on with for another of its name and size") {
  const TemporaryFolder folder;
  constexpr std::int64_t side = 96;
  const VolumeInfo info{.shape = {1, side, side, side}};
  for (const char* name : {"a", "b"}) {
    std::vector<std::byte> voxels(side * side * side);
    std::uint32_t noise = static_cast<std::uint32_t>(name[0]);
    for (std::size_t i = voxels.size() / 4; i < voxels.size() / 4 * 3; ++i)
      voxels[i] = static_cast<std::byte>((noise = noise * 1664525 + 1013904223) >> 28);
    fs::create_directory(folder / name);
    write_nifti(folder / name / "x.nii", info, voxels);
    fs::last_write_time(folder / name / "x.nii", fs::last_write_time(folder / "a/x.nii"));
  }
  const auto words = [](const char* output) -> std::vector<std::string> {
    return {"pack", "volumes", "x.nii", output,    "--chunk", "8",         "8",
            "8",    "--codec", "zstd",  "--level", "19",      "--threads", "1"};
  };
  REQUIRE(run_headrace(folder / "b", words("../whole.hrv")).status == 0);
  StartedProgram program(headrace_program(), words("../x.hrv"), {.folder = folder / "a"});
  program.wait_until([&] { return fs::exists(folder / "x.hrv.partial"); });
  program.signal(SIGTERM);
  program.wait();
  const Finished rest = run_headrace(folder / "b", words("../x.hrv"));
  REQUIRE_MESSAGE(rest.status == 0, rest.err);
  CHECK_MESSAGE(!contains(rest.out, "from an earlier run"), rest.out);
  CHECK(content_of(folder / "x.hrv") == content_of(folder / "whole.hrv"));
}

TEST_CASE("steps that read through each other end with little memory") {
  const TemporaryFolder folder;
  write_volume(folder / "a.nii.gz");  // one block of 42 kB
  const Finished packed =
      run_headrace(folder.path(), {"pack", "volumes", "a.nii.gz", "a.hrv", "--median", "--spacing",
                                   "1", "1", "1", "--memory", "180kB", "--threads", "1"});
  CHECK_MESSAGE(packed.status == 0, packed.err);
}

TEST_CASE("what cannot be converted is refused before anything is written") {
  const TemporaryFolder folder;
  std::ofstream(folder / "x.nii.gz") << "no volume";
  const auto refused = [&](std::vector<std::string> words, int status, const char* why) {
    words.insert(words.begin(), {"pack", "volumes"});
    const Finished packed = run_headrace(folder.path(), words);
    CHECK(packed.status == status);
    CHECK_MESSAGE(contains(packed.err, why), packed.err);
  };
  refused({"x.nii.gz", "x.hrv"}, 3, "x.nii.gz");
  refused({"none.nii", "x.hrv"}, 2, "there is no such file");
  refused({"x.nii.gz", "x.hrv", "--memory", "much"}, 2, "--memory must be a size");
  refused({"x.nii.gz", "x.hrv", "--each"}, 2, "must be a folder of volumes");
  refused({"x.nii.gz", "x.hrv", "--labels"}, 2, "give one, or leave it out");
  refused({"x.nii.gz", "x.nii.gz"}, 2, "must not be a part of INPUT");
  fs::create_directory(folder / "slices");
  refused({"slices", "slices/x.hrv"}, 2, "must not be a part of INPUT");
  refused({"slices", "slices", "--each"}, 2, "another folder than INPUT");
  CHECK(!fs::exists(folder / "x.hrv"));
  fs::create_directory(folder / "twice");
  write_volume(folder / "twice/a.nii");
  write_volume(folder / "twice/a.nii.gz");
  refused({"twice", "out", "--each"}, 2, "a name of its own");
}

}  // namespace headrace::test
