#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {

inline std::vector<NnUNetCase> cases_of(const NnUNetRawFiles& files) {
  return read_nnunet_raw(files.path()).cases;
}

inline PrepareOptions options_for(const TemporaryFolder& folder) {
  return {.folder = folder / "out", .chunk = {4, 8, 16}, .values = {0, 1, 2}};
}

/// Values of a prepared image: stored * scale + offset.
inline std::vector<double> values_of(const std::filesystem::path& file) {
  const auto volume = open_volume(file);
  const VolumeInfo& info = volume->info();
  REQUIRE(info.dtype == DType::int16);
  const std::vector<std::byte> voxels = whole_volume(*volume);
  std::vector<double> values;
  for (std::size_t at = 0; at < voxels.size(); at += 2) {
    std::int16_t stored = 0;
    std::memcpy(&stored, voxels.data() + at, sizeof stored);
    values.push_back(stored * info.scale + info.offset);
  }
  return values;
}

/// What preparing throws.
template <class Error = ConfigError>
std::string refusal(const std::vector<NnUNetCase>& cases, const VolumePreparation& preparation,
                    const PrepareOptions& options) {
  try {
    prepare_cases(cases, preparation, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace headrace::test
