#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/write_prediction.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

VolumeInfo prediction_info(DType dtype, const VolumeIndex& shape) {
  return {.shape = shape,
          .dtype = dtype,
          .spacing = {2.5, 0.75, 0.3},
          .affine = {-0.3, 0, 0, 12, 0, 0.75, 0, -7, 0, 0, 2.5, 3}};
}

std::vector<std::byte> prediction_voxels(const VolumeInfo& info) {
  std::vector<std::byte> voxels(static_cast<std::size_t>(voxels_of(info.shape)) *
                                size_of(info.dtype));
  for (std::size_t i = 0; i < voxels.size(); ++i)
    voxels[i] = static_cast<std::byte>(i * i % 7);
  return voxels;
}

}  // namespace

TEST_CASE("a prediction is written as its name says and read again, spacing and all") {
  const TemporaryFolder folder;
  for (const DType dtype : {DType::uint8, DType::int16, DType::float32}) {
    for (const std::int64_t channels : {1, 2}) {
      const VolumeInfo info = prediction_info(dtype, {channels, 5, 40, 30});
      const std::vector<std::byte> voxels = prediction_voxels(info);
      for (const char* name : {"p.nii", "p.nii.gz", "p.tif", "p.TIFF", "p.h5", "p.hdf5"}) {
        CAPTURE(name);
        CHECK(writes_prediction(name));
        write_prediction(folder / name, info, voxels);
        const auto volume = open_volume(folder / name);
        CHECK(volume->info().shape == info.shape);
        CHECK(volume->info().dtype == dtype);
        CHECK(whole_volume(*volume) == voxels);
        for (std::size_t axis = 0; axis < 3; ++axis)
          CHECK(volume->info().spacing[axis] == doctest::Approx(info.spacing[axis]).epsilon(1e-6));
        std::filesystem::remove(folder / name);
      }
    }
  }
}

TEST_CASE("NIfTI has the affine of the volume that was predicted") {
  const TemporaryFolder folder;
  const VolumeInfo info = prediction_info(DType::uint8, {1, 5, 4, 3});
  write_prediction(folder / "p.nii.gz", info, prediction_voxels(info));
  const VolumeInfo read = open_volume(folder / "p.nii.gz")->info();
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(read.affine[i] == doctest::Approx(info.affine[i]).epsilon(1e-6));
}

TEST_CASE("labels are packed small in HDF5") {
  const TemporaryFolder folder;
  const VolumeInfo info = prediction_info(DType::uint8, {1, 20, 200, 200});
  write_prediction(folder / "p.h5", info, std::vector<std::byte>(20 * 200 * 200, std::byte{1}));
  CHECK(std::filesystem::file_size(folder / "p.h5") < 100'000);
}

TEST_CASE("a prediction of an unknown name or a false size is refused") {
  const TemporaryFolder folder;
  VolumeInfo info = prediction_info(DType::uint8, {1, 5, 4, 3});
  const std::vector<std::byte> voxels = prediction_voxels(info);
  CHECK_FALSE(writes_prediction("p.npy"));
  CHECK_THROWS_WITH_AS(write_prediction(folder / "p.npy", info, voxels),
                       doctest::Contains("p.npy: a prediction's name must end in .nii.gz"),
                       ConfigError);
  for (const char* name : {"p.nii.gz", "p.tif", "p.h5"}) {
    CHECK_THROWS_WITH_AS(write_prediction(folder / name, info, std::span(voxels).first(59)),
                         doctest::Contains("say 60 bytes, got 59"), ConfigError);
    CHECK_FALSE(std::filesystem::exists(folder / name));
  }
  info.scale = 2;
  CHECK_THROWS_WITH_AS(write_prediction(folder / "p.h5", info, voxels),
                       doctest::Contains("HDF5 has no scale and offset"), ConfigError);
}

}  // namespace headrace::test
