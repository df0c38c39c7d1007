// The folder of predicted volumes: what may lie in it, and what a stop leaves.
#include <headrace/apps/predict/volume_output.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::app {

namespace fs = std::filesystem;

TEST_CASE("what a stopped prediction has left in a folder of volumes counts as nothing") {
  const test::TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const PredictedVolume volume{.info = {.shape = {1, 1, 2, 2}, .dtype = DType::uint8},
                               .voxels = std::vector<std::byte>(4)};
  {
    VolumeOutput stopped(out, false);
    std::ofstream(stopped.prepared() / "a.json") << "{}";
    stopped.write("a.nii", volume);
    stopped.stay();
  }
  CHECK(fs::exists(out / ".headrace-prepared/a.json"));
  {
    VolumeOutput again(out, false);
    CHECK(fs::exists(again.prepared() / "a.json"));
    again.write("dice.csv", "case\n");
    again.stay();
  }
  std::ofstream(out / "b.nii") << "drawn";
  CHECK_THROWS_WITH_AS(VolumeOutput(out, false), doctest::Contains("must be empty"), ConfigError);
  CHECK(fs::exists(out / ".headrace-prepared/a.json"));
  fs::create_directory(out / ".prepared");
  { const VolumeOutput over(out, true); }
  CHECK_FALSE(fs::exists(out / ".headrace-prepared"));
  CHECK(fs::exists(out / ".prepared"));
  CHECK(fs::exists(out / "b.nii"));
  CHECK(fs::exists(out / "a.nii"));
  CHECK_THROWS_AS(VolumeOutput(out, false), ConfigError);
}

}  // namespace headrace::app
