#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace headrace::inline v1::app {

/// How fast files of a data set can be read, their pages dropped from the page cache before.
struct ReadSpeed {
  double sequential_per_s = 0.0;  ///< bytes, file behind file
  double random_per_s = 0.0;      ///< bytes, pieces of 128 KiB anywhere in them, one at a time
  std::uint64_t bytes = 0;        ///< that were read
  /// Of these, the share that was in memory still when it was read: the file system keeps its
  /// pages, or does not show them.
  double cached_share = 0.0;
};

/// Where a measurement ends; half of it for each way of reading.
struct ReadSpeedLimits {
  double seconds = 1.0;
  std::uint64_t bytes = 256ULL << 20;
  std::size_t files = 4096;  ///< that are looked at in a folder
};

/// Reads from a file, or from the files of a folder and of those below it. Pages that somebody else
/// reads at this moment go, too. Nothing where there is no byte to read.
std::optional<ReadSpeed> measure_read_speed(const std::filesystem::path& data,
                                            const ReadSpeedLimits& limits = {});

/// Seconds until 4 KiB are safe on the storage of a folder, the median of five; they are written to
/// a file without a name. Nothing where none can be written.
std::optional<double> measure_fsync(const std::filesystem::path& folder);

}  // namespace headrace::inline v1::app
