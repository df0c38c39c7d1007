// Files that other libraries wrote and what these read of them, see volume_files.py.
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/loaders/volume/volume_data.h>
#include <headrace/tests/loaders/volume/whole_volume.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

namespace headrace::test {
namespace {

struct Expected {
  std::string file, dataset, dtype;
  VolumeInfo info;
  std::uint32_t sum = 0;
};

std::vector<Expected> expected() {
  std::ifstream from(volume_data() / "expected.txt");
  std::vector<Expected> all;
  for (std::string line; std::getline(from, line);) {
    std::istringstream words(line);
    Expected one;
    words >> one.file >> one.dataset >> one.dtype;
    double number = 0.0;
    for (std::int64_t& extent : one.info.shape) {
      words >> number;
      extent = static_cast<std::int64_t>(number);
    }
    words >> one.info.scale >> one.info.offset;
    for (double& step : one.info.spacing)
      words >> step;
    for (double& value : one.info.affine)
      words >> value;
    words >> one.sum;
    REQUIRE(!words.fail());
    if (one.dataset == "-") one.dataset.clear();
    all.push_back(one);
  }
  return all;
}

std::shared_ptr<const Volume> open(const Expected& one) {
  return open_volume(volume_data() / one.file, {.dataset = one.dataset});
}

}  // namespace

TEST_CASE("volumes that nibabel, tifffile and h5py wrote are what these read") {
  std::map<std::string, int> files;
  for (const Expected& one : expected()) {
    CAPTURE(one.file);
    CAPTURE(one.dataset);
    const auto volume = open(one);
    const VolumeInfo& info = volume->info();
    CHECK(name_of(info.dtype) == one.dtype);
    CHECK(info.shape == one.info.shape);
    CHECK(info.scale == doctest::Approx(one.info.scale));
    CHECK(info.offset == doctest::Approx(one.info.offset));
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(info.spacing[i] == doctest::Approx(one.info.spacing[i]).epsilon(1e-6));
    for (std::size_t i = 0; i < 12; ++i)
      CHECK(info.affine[i] == doctest::Approx(one.info.affine[i]).epsilon(1e-6));
    const std::vector<std::byte> voxels = whole_volume(*volume);
    const auto sum =
        ::crc32(0, reinterpret_cast<const Bytef*>(voxels.data()), static_cast<uInt>(voxels.size()));
    CHECK(sum == one.sum);
    ++files[std::filesystem::path(one.file).extension().string()];
  }
  CHECK(files[".nii"] >= 30);
  CHECK(files[".gz"] >= 8);
  CHECK(files[".tif"] >= 40);
  CHECK(files[".h5"] >= 12);
}

}  // namespace headrace::test
