#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/write_prediction.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headrace::test {

inline const VolumeInfo sheet_grid{.shape = {1, 24, 40, 40}, .dtype = DType::uint8};

/// Distance of a voxel along z to the middle of a curved sheet.
inline double from_sheet(int number, std::int64_t y, std::int64_t x, std::int64_t z) {
  const double wave = 3.0 * std::sin(0.15 * static_cast<double>(x + 5 * number)) +
                      2.0 * std::cos(0.12 * static_cast<double>(y - 3 * number));
  return std::abs(static_cast<double>(z) - 11.5 - wave);
}

template <class Voxel>
void write_sheet(const std::filesystem::path& file, const Voxel& voxel) {
  std::vector<std::uint8_t> values;
  for (std::int64_t z = 0; z < sheet_grid.shape[1]; ++z)
    for (std::int64_t y = 0; y < sheet_grid.shape[2]; ++y)
      for (std::int64_t x = 0; x < sheet_grid.shape[3]; ++x)
        values.push_back(voxel(z, y, x));
  write_prediction(file, sheet_grid, std::as_bytes(std::span(values)));
}

/// A bright sheet in noise; of the label 1 a sheet of four voxels, and 2, nobody knows, in one
/// corner.
inline void write_sheet_case(const std::filesystem::path& image, const std::filesystem::path& label,
                             int number) {
  Random random(RandomKey{.seed = static_cast<std::uint64_t>(number) + 1});
  write_sheet(image, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const bool in = from_sheet(number, y, x, z) < 2.0;
    return static_cast<std::uint8_t>(60 + random.below(60) + (in ? 100 : 0));
  });
  write_sheet(label, [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    if (y < 8 && x < 8) return std::uint8_t{2};
    return static_cast<std::uint8_t>(from_sheet(number, y, x, z) < 2.0 ? 1 : 0);
  });
}

/// As the challenge lays its volumes out: train_images/NUMBER.tif, train_labels/NUMBER.tif.
inline void write_challenge(const std::filesystem::path& folder, int first, int last,
                            const std::string& ending = ".tif") {
  for (const char* part : {"train_images", "train_labels"})
    std::filesystem::create_directories(folder / part);
  for (int number = first; number < last; ++number) {
    const std::string name = std::to_string(1000 + number) + ending;
    write_sheet_case(folder / "train_images" / name, folder / "train_labels" / name, number);
  }
}

}  // namespace headrace::test
