#pragma once

#include <headrace/apps/jobs/leak/recordings.h>
#include <headrace/apps/jobs/leak/statistics.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headrace::inline v1::app {

struct WriteLeakOptions {
  std::filesystem::path file{};
  std::int64_t recordings = 0;  ///< the first so many
  bool waveforms = true;        ///< write segments_waveform too
  int threads = 1;
  std::string recipe{};                ///< kept in the file's attribute "recipe"
  LeakStatistics* training = nullptr;  ///< statistics for the file; with `measure`, taken from it
  bool measure = false;
  std::function<void(std::int64_t done, std::int64_t all)> progress{};
};

/// Writes a file of the job: `segments_mel` float16 [files, 40, 2, 64, 5], `labels` int16 [files],
/// `segments_waveform` int16 [files, 40, 2, 512] of which the spectrograms were made, and the
/// attributes labels_json, config_json and recipe. It gets its name when it is whole. The bytes do
/// not depend on the number of threads. Throws ConfigError for a folder that cannot be written.
void write_leak_file(const LeakBackgrounds& backgrounds, const WriteLeakOptions& options);

/// Whether the file is there, whole and made by this recipe.
bool has_leak_file(const std::filesystem::path& file, const std::string& recipe);

}  // namespace headrace::inline v1::app
