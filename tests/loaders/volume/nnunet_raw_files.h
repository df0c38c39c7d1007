#pragma once

#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace headrace::test {

/// A small data set in nnU-Net's raw layout; nnunet_fingerprint.py makes the same.
class NnUNetRawFiles {
 public:
  static constexpr int cases = 4;
  static constexpr const char* json =
      R"({"channel_names": {"0": "CT", "1": "PET"},
          "labels": {"background": 0, "organ": 1, "tumour": 2},
          "numTraining": 4, "file_ending": ".nii.gz"})";

  NnUNetRawFiles() {
    for (const char* part : {"imagesTr", "labelsTr"})
      std::filesystem::create_directory(path() / part);
    write_json(json);
    for (int i = 0; i < cases; ++i)
      write_case(i);
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  void write_json(const std::string& text) const { std::ofstream(path() / "dataset.json") << text; }
  std::filesystem::path image(int which, int channel) const {
    return path() / "imagesTr" /
           ("case" + std::to_string(which) + "_000" + std::to_string(channel) + ".nii.gz");
  }
  std::filesystem::path label(int which) const {
    return path() / "labelsTr" / ("case" + std::to_string(which) + ".nii.gz");
  }

  static VolumeInfo info_of(int which, DType dtype) {
    const double spacing = 2.5 + which;
    return {.shape = {1, 9 + which, 20 + 2 * which, 24 - which},
            .dtype = dtype,
            .spacing = {spacing, 0.75, 0.8},
            .affine = {0.8, 0, 0, 0, 0, 0.75, 0, 0, 0, 0, spacing, 0}};
  }

  /// A file whose voxels are `voxel(z, y, x)`.
  template <class T, class Voxel>
  static void write(const std::filesystem::path& file, const VolumeInfo& info, const Voxel& voxel) {
    std::vector<T> values;
    for (std::int64_t z = 0; z < info.shape[1]; ++z)
      for (std::int64_t y = 0; y < info.shape[2]; ++y)
        for (std::int64_t x = 0; x < info.shape[3]; ++x)
          values.push_back(static_cast<T>(voxel(z, y, x)));
    write_nifti(file, info, std::as_bytes(std::span(values)));
  }

 private:
  static bool within(std::int64_t at, std::int64_t begin, std::int64_t end) {
    return at >= begin && at < end;
  }

  void write_case(int which) const {
    const VolumeIndex shape = info_of(which, DType::uint8).shape;
    const auto body = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
      const bool hole = within(z, 3, 5) && within(y, 8, 11) && within(x, 9, 13);
      return within(z, 1, shape[1] - 1) && within(y, 3, shape[2] - 2) &&
             within(x, 2, shape[3] - 1) && !hole;
    };
    write<std::int16_t>(image(which, 0), info_of(which, DType::int16),
                        [&](std::int64_t z, std::int64_t y, std::int64_t x) {
                          return body(z, y, x) ? (x * 7 + y * 13 + z * 31 + which * 17) % 401 - 100
                                               : 0;
                        });
    write<float>(image(which, 1), info_of(which, DType::float32),
                 [&](std::int64_t z, std::int64_t y, std::int64_t x) {
                   return body(z, y, x) ? static_cast<float>((x * y + 3 * z + which) % 97) * 0.25F
                                        : 0.0F;
                 });
    write<std::uint8_t>(label(which), info_of(which, DType::uint8),
                        [&](std::int64_t z, std::int64_t y, std::int64_t x) {
                          if (which == 3) return 0;
                          if (within(z, 4, 7) && within(y, 6, 9) && within(x, 3, 6)) return 2;
                          const bool organ =
                              within(z, 2, 6) && within(y, 5, 12) && within(x, 5, 14);
                          return organ || (z == 0 && y == 0 && x == 0) ? 1 : 0;
                        });
  }

  TemporaryFolder folder_;
};

}  // namespace headrace::test
