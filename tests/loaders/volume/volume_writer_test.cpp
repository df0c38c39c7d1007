#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

VolumeInfo written_info(DType dtype, const VolumeIndex& shape) {
  return {.shape = shape,
          .dtype = dtype,
          .spacing = {2.5, 0.75, 0.3},
          .affine = {0.3, 0, 0, 0, 0, 0.75, 0, 0, 0, 0, 2.5, 0}};
}

std::vector<std::byte> written_voxels(const VolumeInfo& info) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(voxels_of(info.shape)) *
                               size_of(info.dtype));
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

void check_same(const VolumeInfo& read, const VolumeInfo& written) {
  CHECK(read.shape == written.shape);
  CHECK(read.dtype == written.dtype);
  CHECK(read.scale == doctest::Approx(written.scale));
  CHECK(read.offset == doctest::Approx(written.offset));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(read.spacing[i] == doctest::Approx(written.spacing[i]).epsilon(1e-6));
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(read.affine[i] == doctest::Approx(written.affine[i]).epsilon(1e-6));
}

constexpr std::array types{DType::uint8,   DType::int8,   DType::uint16, DType::int16,
                           DType::uint32,  DType::int32,  DType::uint64, DType::int64,
                           DType::float32, DType::float64};

}  // namespace

TEST_CASE("a volume that was written is read again, whatever type, channels and packing") {
  const TemporaryFolder folder;
  for (const DType dtype : types) {
    for (const std::int64_t channels : {1, 3}) {
      const VolumeInfo info = written_info(dtype, {channels, 4, 50, 60});
      const std::vector<std::byte> voxels = written_voxels(info);
      for (const char* name : {"x.nii", "x.nii.gz", "x.tif"}) {
        CAPTURE(name);
        const bool tiff = std::string(name) == "x.tif";
        (tiff ? write_tiff_volume : write_nifti)(folder / name, info, voxels);
        const auto volume = open_volume(folder / name);
        check_same(volume->info(), info);
        CHECK(whole_volume(*volume) == voxels);
      }
    }
  }
}

TEST_CASE("NIfTI keeps an oblique affine, a scale and an offset") {
  const TemporaryFolder folder;
  VolumeInfo info = written_info(DType::int16, {1, 3, 4, 5});
  info.scale = 0.5, info.offset = -1024;
  info.affine = {-0.2, 0.1, 0.5, 10, 0.25, 0.7, -0.1, -20, 0.05, 0.2, 2.4, 30};
  write_nifti(folder / "x.nii.gz", info, written_voxels(info));
  check_same(open_volume(folder / "x.nii.gz")->info(), info);
  CHECK_THROWS_WITH_AS(write_tiff_volume(folder / "x.tif", info, written_voxels(info)),
                       doctest::Contains("x.tif: TIFF has no scale and offset"), ConfigError);
}

TEST_CASE("booleans are written as numbers, halves and false sizes are refused") {
  const TemporaryFolder folder;
  VolumeInfo info = written_info(DType::boolean, {1, 3, 4, 5});
  const std::vector<std::byte> voxels(60, std::byte{1});
  write_nifti(folder / "x.nii", info, voxels);
  write_tiff_volume(folder / "x.tif", info, voxels);
  CHECK(open_volume(folder / "x.nii")->info().dtype == DType::uint8);
  CHECK(whole_volume(*open_volume(folder / "x.tif")) == voxels);
  info.dtype = DType::float16;
  CHECK_THROWS_WITH_AS(write_nifti(folder / "x.nii", info, written_voxels(info)),
                       doctest::Contains("got float16"), ConfigError);
  CHECK_THROWS_WITH_AS(write_tiff_volume(folder / "x.tif", info, voxels),
                       doctest::Contains("say 120 bytes, got 60"), ConfigError);
  info = written_info(DType::uint8, {1, 1, 1, 32768});
  CHECK_THROWS_WITH_AS(write_nifti(folder / "x.nii", info, written_voxels(info)),
                       doctest::Contains("up to 32767, got 32768"), ConfigError);
  CHECK_THROWS_AS(
      write_nifti(folder / "none" / "x.nii", info = written_info(DType::uint8, {1, 1, 1, 1}),
                  std::vector<std::byte>(1)),
      ResourceError);
}

TEST_CASE("the same volume is the same file, and large pages have several strips") {
  const TemporaryFolder folder;
  const VolumeInfo info = written_info(DType::float64, {1, 2, 700, 900});
  const std::vector<std::byte> voxels = written_voxels(info);
  const auto contents = [&](const char* name) {
    std::ifstream in(folder / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  write_nifti(folder / "a.nii.gz", info, voxels);
  write_nifti(folder / "b.nii.gz", info, voxels);
  write_tiff_volume(folder / "a.tif", info, voxels);
  write_tiff_volume(folder / "b.tif", info, voxels);
  CHECK(contents("a.nii.gz") == contents("b.nii.gz"));
  CHECK(contents("a.tif") == contents("b.tif"));
  const auto volume = open_volume(folder / "a.tif");
  CHECK(volume->info().block[2] < 700);
  CHECK(whole_volume(*volume) == voxels);
}

TEST_CASE("nibabel and tifffile read what was written") {
  const char* program = std::getenv("HEADRACE_VOLUME_PYTHON");
  if (program == nullptr)
    return skip("needs HEADRACE_VOLUME_PYTHON, a Python with nibabel, tifffile and imagecodecs");
  const TemporaryFolder folder;
  for (const DType dtype : types) {
    VolumeInfo info = written_info(dtype, {3, 4, 5, 6});
    const std::vector<std::byte> voxels = written_voxels(info);
    const std::string name(name_of(dtype));
    write_nifti(folder / std::string(name).append(".nii.gz"), info, voxels);
    write_tiff_volume(folder / std::string(name).append(".tif"), info, voxels);
    std::ofstream(folder / std::string(name).append(".raw"), std::ios::binary)
        .write(reinterpret_cast<const char*>(voxels.data()),
               static_cast<std::streamsize>(voxels.size()));
  }
  const std::string command = std::string(program) + " " + headrace::test::source_folder() +
                              "/tests/loaders/volume/read_written.py " + folder.path().string();
  CHECK(std::system(command.c_str()) == 0);
}

}  // namespace headrace::test
