#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// What a file of the job says about its recordings; a recording is a "file" of the original set.
struct LeakFile {
  std::filesystem::path path{};
  std::int64_t longs = 0;   ///< long segments of a recording
  std::int64_t shorts = 0;  ///< short segments of a long one
  std::int64_t mels = 0;
  std::int64_t frames = 0;
  std::vector<std::uint8_t> labels{};  ///< of each recording: 1 for a leak
  double mean = 0.0;                   ///< of the training set's cells, in decibels
  double deviation = 1.0;              ///< likewise

  std::int64_t segments() const { return longs * shorts; }
};

/// Reads labels and attributes. The label that counts as a leak is the one that the attribute
/// "labels_json" calls LEAK. Mean and deviation are mean_db and std_db of "config_json"; of a file
/// that does not hold them, as the original, those of the training file where one is given, else
/// leak_statistics() of its own cells: only for that segments are read. Throws DataError for a file
/// of another layout.
LeakFile read_leak_file(const std::filesystem::path& path, const LeakFile* training = nullptr);

/// The same of recordings that nobody has labelled; all labels are 0.
LeakFile read_leak_recordings(const std::filesystem::path& path, const LeakFile* training);

}  // namespace headrace::inline v1::app
