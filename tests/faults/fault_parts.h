#pragma once

#include <headrace/tests/faults/fault_scenario.h>
#include <headrace/tests/loaders/image_files.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

/// What the makers of scenarios share.
namespace headrace::test {

inline constexpr std::int64_t fault_records = 18;

inline std::string text_of(const void* bytes, std::size_t count) {
  return {static_cast<const char*>(bytes), count};
}

template <class T>
std::string bytes_of_value(T value) {
  return text_of(&value, sizeof value);
}

inline void put(const std::filesystem::path& file, const Bytes& bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

/// Pictures in a folder; `cached`: read by workers where the pages are in memory.
FaultScenario image_scenario(const std::filesystem::path& folder, bool cached, bool replaces);
/// Pictures that a DecodedCache keeps, in memory or on disk.
FaultScenario cache_scenario(const std::filesystem::path& folder, bool disk);
/// Pictures that are packed first.
FaultScenario pack_scenario(const std::filesystem::path& folder);
/// Slices of volumes: NIfTI, packed or not, and a chunk store; those of libraries too: TIFF in one
/// file and in many, and Zarr.
FaultScenario volume_scenario(const std::filesystem::path& folder, bool by_libraries);

}  // namespace headrace::test
