#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace headrace::test {

TEST_CASE("a volume is opened by what it begins with, whatever its name") {
  const TemporaryFolder folder;
  const std::filesystem::path data =
      std::filesystem::path(headrace::test::source_folder()) / "tests/loaders/volume/data";
  for (const char* name : {"n1-u2-little.nii", "plain-u2.tif", "plain-u2-big.tif", "single.h5"}) {
    std::filesystem::copy_file(data / name, folder / std::string(name).append(".bin"));
    CHECK(open_volume(folder / std::string(name).append(".bin"))->name().find(".bin") !=
          std::string::npos);
  }
}

TEST_CASE("what is no volume is refused with the formats that are known") {
  const TemporaryFolder folder;
  std::ofstream(folder / "x.txt") << "text";
  std::filesystem::create_directory(folder / "empty");
  for (const char* name : {"x.txt", "empty"}) {
    for (const char* format : {"NIfTI (.nii", "TIFF (.tif", "a folder of TIFF slices", "HDF5 (.h5"})
      CHECK_THROWS_WITH_AS(open_volume(folder / name), doctest::Contains(format), ConfigError);
  }
  CHECK_THROWS_WITH_AS(open_volume(folder / "none.nii"), doctest::Contains("there is no such file"),
                       ConfigError);
}

TEST_CASE("a damaged file is refused as what its name says") {
  const TemporaryFolder folder;
  const auto refused = [&](const char* name, const char* who) {
    std::ofstream(folder / name) << "damaged";
    CHECK_THROWS_WITH_AS(open_volume(folder / name), doctest::Contains(who), DataError);
  };
  refused("x.nii", "[nifti]");
  refused("x.nii.gz", "[nifti]");
  refused("x.tiff", "[tiff]");
  refused("x.h5", "[hdf5]");
}

}  // namespace headrace::test
