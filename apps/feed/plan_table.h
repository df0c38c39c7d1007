#pragma once

#include <headrace/apps/feed/planned_source.h>
#include <headrace/loaders/file/stage_progress.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <memory>
#include <string_view>

namespace headrace::inline v1::app {

/// Tells log_data() what a source warns of and how far a stage is. Any thread.
void log_table(headrace::LogLevel level, std::string_view line);

/// Shows how far the copy of a file to a stage is, on standard error.
StageCallback show_stage();

/// The options of a table that says to the person at the program what it warns of and how far its
/// stage is.
Hdf5TableOptions telling(Hdf5TableOptions options);

/// Has what a table unpacks out of chunks counted while it is in use (feed/read_window.h).
void watch_table(const std::shared_ptr<const Hdf5Table>& table);

/// Plans an HDF5 table: opens the file without reading rows; open() copies it to the stage, where
/// the options name one. Throws what Hdf5Table throws.
PlannedSource plan_table(const Hdf5TableOptions& options);

}  // namespace headrace::inline v1::app
