#pragma once

#include <headrace/engine/sample/source.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace headrace::inline v1::app {

/// A source that can be planned with before it takes memory.
struct PlannedSource {
  /// Same fields and size as what open() gives, but nothing of the data is in memory.
  std::shared_ptr<const Source> outline;
  std::size_t resident_bytes = 0;  ///< What open() will keep in memory beyond the outline.
  std::function<std::shared_ptr<const Source>()> open;
};

/// Prints what a source warns of and how far a stage is on standard error. Any thread.
void log_table(LogLevel level, std::string_view line);

/// Shows how far the copy of a file to a stage is, on standard error.
StageCallback show_stage();

/// The options of a table that says to the person at the program what it warns of and how far its
/// stage is.
Hdf5TableOptions telling(Hdf5TableOptions options);

/// Plans an HDF5 table: opens the file without reading rows; open() copies it to the stage, where
/// the options name one. Throws what Hdf5Table throws.
PlannedSource plan_table(const Hdf5TableOptions& options);

}  // namespace headrace::inline v1::app
