#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/nifti_volume.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/volume/check_has.h>
#include <headrace/tests/loaders/volume/volume_data.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <zlib.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

void write_packed(const fs::path& path, const std::string& bytes) {
  const gzFile out = ::gzopen(path.c_str(), "wb");
  ::gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(out);
}

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// A NIfTI-1 file of int16, 7 x 6 x 5.
std::string plain() {
  return content_of(volume_data() / "n1-i2-little.nii");
}

/// What opening or reading throws of a file of that name.
std::string nifti_complaint(const std::string& bytes, const std::string& name = "x.nii") {
  const TemporaryFolder folder;
  make_file(folder / name, bytes);
  try {
    whole_volume(*open_nifti_volume(folder / name));
  } catch (const DataError& error) {
    const std::string what = error.what();
    CHECK(what.find(name) != std::string::npos);
    return what;
  }
  return "no error";
}

template <class T>
std::string complaint_of(std::size_t at, T value) {
  std::string bytes = plain();
  put(bytes, at, value);
  return nifti_complaint(bytes);
}

std::string packed(const std::string& bytes) {
  const TemporaryFolder folder;
  write_packed(folder / "x.gz", bytes);
  return content_of(folder / "x.gz");
}

}  // namespace

TEST_CASE("a NIfTI header that no file can have is refused by name") {
  REQUIRE(nifti_complaint(plain()) == "no error");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  check_has(complaint_of<std::int16_t>(40, 9), "dim[0] must be from 1 to 7 axes, got 9");
  check_has(complaint_of<std::int16_t>(40, 0), "dim[0] must be from 1 to 7 axes, got 0");
  check_has(complaint_of<std::int16_t>(42, -7), "dim[1] must be at least 1, got -7");
  check_has(complaint_of<std::int16_t>(46, 0), "dim[3] must be at least 1, got 0");
  check_has(complaint_of<std::int16_t>(46, 6),
            "shape, type and vox_offset say 856 bytes, the file has");
  check_has(complaint_of<std::int16_t>(46, 4), "something was added behind the voxels");
  check_has(complaint_of<std::int16_t>(72, 8), "bitpix must be 16 for int16 voxels, got 8");
  check_has(complaint_of<std::int16_t>(70, 32), "got datatype 32 (complex64)");
  check_has(complaint_of<std::int16_t>(70, 128), "got datatype 128 (RGB24)");
  check_has(complaint_of<std::int16_t>(70, 1536), "got datatype 1536 (float128)");
  check_has(complaint_of<std::int16_t>(70, 77), "the datatype must be one of NIfTI's, got 77");
  check_has(complaint_of(108, nan), "vox_offset must be a whole number from 352 on, got nan");
  check_has(complaint_of(108, -352.0F), "vox_offset must be a whole number from 352 on, got -352");
  check_has(complaint_of(108, 348.0F), "vox_offset must be a whole number from 352 on, got 348");
  check_has(complaint_of(108, 352.5F), "vox_offset must be a whole number");
  check_has(complaint_of(108, 1e30F), "vox_offset must be a whole number");
  check_has(complaint_of(108, 1e9F), "say 1000000420 bytes");
  check_has(complaint_of<std::int32_t>(0, 349), "must begin with a header of NIfTI-1");
  check_has(complaint_of<std::int32_t>(344, 0), "must begin with a header of NIfTI-1");
  check_has(complaint_of(280, nan), "the affine must be finite");
  check_has(nifti_complaint(plain().substr(0, 300)), "must begin with a header of NIfTI-1");
  check_has(nifti_complaint(""), "must begin with a header of NIfTI-1");
}

TEST_CASE(
    "a NIfTI file with more axes, a quaternion too long or extents beyond limits is refused") {
  std::string bytes = plain();
  put<std::int16_t>(bytes, 40, 5);
  put<std::int16_t>(bytes, 48, 2);
  put<std::int16_t>(bytes, 50, 2);
  check_has(nifti_complaint(bytes), "must have x, y, z and one more axis");
  bytes = plain();
  put<std::int16_t>(bytes, 254, 0);
  put<std::int16_t>(bytes, 252, 1);
  put(bytes, 256, 3.0F);
  check_has(nifti_complaint(bytes), "the quaternion of its orientation must be at most 1 long");
  bytes = plain();
  for (std::size_t axis = 0; axis < 4; ++axis)
    put<std::int16_t>(bytes, 42 + 2 * axis, 32767);
  put<std::int16_t>(bytes, 40, 4);
  check_has(nifti_complaint(bytes), "must have at most 1099511627776 voxels");
}

TEST_CASE("a packed NIfTI file that is damaged or lies is refused, before memory is taken for it") {
  const std::string whole = packed(plain());
  REQUIRE(nifti_complaint(whole, "x.nii.gz") == "no error");
  check_has(nifti_complaint(whole.substr(0, whole.size() / 2), "x.nii.gz"),
            "ends inside its gzip data");
  check_has(nifti_complaint(whole.substr(0, whole.size() - 4), "x.nii.gz"),
            "ends inside its gzip data");
  check_has(nifti_complaint(whole + "garbage", "x.nii.gz"), "must end with its gzip data");
  CHECK(nifti_complaint(whole + std::string(100, '\0'), "x.nii.gz") == "no error");
  std::string sum = whole;
  sum[sum.size() - 6] = static_cast<char>(sum[sum.size() - 6] ^ 1);
  check_has(nifti_complaint(sum, "x.nii.gz"), "its gzip data are damaged (incorrect data check)");
  check_has(nifti_complaint(packed(plain() + "x"), "x.nii.gz"), "unpacks to more bytes");
  check_has(nifti_complaint(packed(plain().substr(0, 700)), "x.nii.gz"),
            "must unpack to 72 bytes more");
  std::string large = plain();
  put<std::int16_t>(large, 42, 30000);
  put<std::int16_t>(large, 44, 3000);
  check_has(nifti_complaint(packed(large), "x.nii.gz"), "the file can unpack to");
}

TEST_CASE("a pair without its voxels and a path without a file are said so") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(open_nifti_volume(folder / "none.nii"),
                       doctest::Contains("there is no such file"), ConfigError);
  CHECK_THROWS_WITH_AS(open_nifti_volume(folder.path()), doctest::Contains("there is no such file"),
                       ConfigError);
  std::string header = plain().substr(0, 348);
  header.replace(344, 3, "ni1");
  put(header, 108, 0.0F);
  make_file(folder / "x.hdr", header);
  CHECK_THROWS_WITH_AS(open_nifti_volume(folder / "x.hdr"), doctest::Contains("x.img"),
                       ConfigError);
  make_file(folder / "x.img", plain().substr(352));
  CHECK(whole_volume(*open_nifti_volume(folder / "x.img")).size() == 420);
}

TEST_CASE("a NIfTI file that is cut while it is open ends the reading") {
  const TemporaryFolder folder;
  make_file(folder / "x.nii", plain());
  const auto volume = open_nifti_volume(folder / "x.nii");
  fs::resize_file(folder / "x.nii", 400);
  CHECK_THROWS_WITH_AS(whole_volume(*volume), doctest::Contains("x.nii: must stay as it is"),
                       PipelineError);
}

TEST_CASE("a large NIfTI volume comes in blocks of whole slices, of rows, or of parts of a row") {
  const TemporaryFolder folder;
  for (const VolumeIndex& shape :
       {VolumeIndex{2, 9, 300, 400}, VolumeIndex{1, 2, 900, 1000}, VolumeIndex{1, 1, 3, 32767}}) {
    std::string bytes = plain().substr(0, 352);
    put<std::int16_t>(bytes, 40, 4);
    for (std::size_t axis = 0; axis < 4; ++axis)
      put(bytes, 48 - 2 * axis, static_cast<std::int16_t>(shape[axis]));
    put<std::int16_t>(bytes, 70, 64);
    put<std::int16_t>(bytes, 72, 64);
    std::vector<double> voxels(static_cast<std::size_t>(voxels_of(shape)));
    for (std::size_t i = 0; i < voxels.size(); ++i)
      voxels[i] = static_cast<double>(i);
    bytes.append(reinterpret_cast<const char*>(voxels.data()), voxels.size() * 8);
    make_file(folder / "x.nii", bytes);
    const auto volume = open_nifti_volume(folder / "x.nii");
    CHECK(volume->info().shape == shape);
    CHECK(voxels_of(volume->info().grid()) > 1);
    CHECK(volume->info().block_bytes() <= std::size_t{1} << 20);
    const std::vector<std::byte> read = whole_volume(*volume);
    CHECK(std::memcmp(read.data(), voxels.data(), read.size()) == 0);
  }
}

}  // namespace headrace::test
