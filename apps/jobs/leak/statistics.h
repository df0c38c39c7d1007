#pragma once

#include <filesystem>

namespace headrace::inline v1::app {

/// Mean and deviation of all cells of a split's spectrograms, in decibels.
struct LeakStatistics {
  double mean = 0.0;
  double deviation = 1.0;
};

/// Those of the cells of a file that does not say them, as it stores them. One pass over the
/// file, for each half-precision value the number of its cells: the order of the cells and the
/// number of threads cannot change the sums. Kept beside the file in "<file>.headrace-statistics",
/// and taken from there while the file's size and time of change are the same; the file itself is
/// never written. Says on standard error what it does. Throws DataError for cells that are no
/// numbers, and what Hdf5Table throws.
LeakStatistics leak_statistics(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
