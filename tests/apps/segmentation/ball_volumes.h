#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace headrace::test {

inline constexpr std::int64_t side = 32;
inline constexpr double spacing = 1.5;

/// Of images and labels.
inline const VolumeInfo grid{.shape = {1, side, side, side},
                             .dtype = DType::int16,
                             .spacing = {spacing, spacing, spacing},
                             .affine = {spacing, 0, 0, -7, 0, spacing, 0, 11, 0, 0, spacing, 3}};

inline bool in_ball(int number, std::int64_t z, std::int64_t y, std::int64_t x) {
  const auto away = [](std::int64_t at, std::int64_t middle) {
    return (at - middle) * (at - middle);
  };
  const std::int64_t radius = 7 + number % 3;
  return away(z, 13 + number) + away(y, 20 - number) + away(x, 12 + 2 * number % 9) <
         radius * radius;
}

/// A ball, brighter than the noise around it.
inline void write_case(const std::filesystem::path& raw, const std::string& part, int number) {
  Random random(RandomKey{.seed = static_cast<std::uint64_t>(number)});
  const std::string name = "case" + std::to_string(number);
  NnUNetRawFiles::write<std::int16_t>(raw / ("images" + part) / (name + "_0000.nii.gz"), grid,
                                      [&](std::int64_t z, std::int64_t y, std::int64_t x) {
                                        return 100 + random.below(60) +
                                               (in_ball(number, z, y, x) ? 150 : 0);
                                      });
  VolumeInfo labels = grid;
  labels.dtype = DType::uint8;
  NnUNetRawFiles::write<std::uint8_t>(raw / ("labels" + part) / (name + ".nii.gz"), labels,
                                      [&](std::int64_t z, std::int64_t y, std::int64_t x) {
                                        return in_ball(number, z, y, x) ? 1 : 0;
                                      });
}

/// Six cases to learn from and two to predict, in nnU-Net's raw layout.
inline void write_balls(const std::filesystem::path& raw) {
  for (const char* part : {"imagesTr", "labelsTr", "imagesTs", "labelsTs"})
    std::filesystem::create_directories(raw / part);
  std::ofstream(raw / "dataset.json")
      << R"({"channel_names": {"0": "MR"}, "labels": {"background": 0, "ball": 1},
             "numTraining": 6, "file_ending": ".nii.gz"})";
  for (int number = 0; number < 6; ++number)
    write_case(raw, "Tr", number);
  for (int number = 6; number < 8; ++number)
    write_case(raw, "Ts", number);
}

/// Trains on the folder "raw"; small enough that a test has time for it.
inline const std::string ball_job =
    "kind: segmentation\n"
    "data: {train: {source: volumes, folder: raw}, split: {validation: 0.17, test: 0.17}}\n"
    "volume: {patch: [24, 24, 24], patches: 4, cache: 16MiB}\n"
    "model: {width: 0.125}\n"
    "loss: [{cross_entropy: {}, factor: 0.67}, {dice: {}, factor: 0.67},\n"
    "       {cross_entropy: {}, on: deep, factor: 0.33}, {dice: {}, on: deep, factor: 0.33}]\n"
    "training: {epochs: 10, learning_rate: 0.01, early_stopping: 0}\n"
    "predict: {mirror: [z, x], smallest: 20, largest_only: true, closing: 1}\n"
    "device: cpu\n"
    "threads: {torch: 1}\n";

}  // namespace headrace::test
