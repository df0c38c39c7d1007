#pragma once

#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/config/exit_codes.h>

namespace headrace::inline v1::app {

/// `headrace prepare leak`: the job's three HDF5 files, recordings of 10 s cut from real speech and
/// music with band-limited noise mixed into every second one. Files that were made by the same
/// recipe are kept.
ExitCode prepare_leak(const PrepareLeakOptions& options);

}  // namespace headrace::inline v1::app
