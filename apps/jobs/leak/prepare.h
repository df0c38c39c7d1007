#pragma once

#include <headrace/apps/run/command.h>

namespace headrace::inline v1::app {

/// `headrace prepare leak`: the job's three HDF5 files, recordings of 10 s cut from real speech and
/// music with band-limited noise mixed into every second one. Files that were made by the same
/// recipe are kept.
Command prepare_leak_command();

}  // namespace headrace::inline v1::app
