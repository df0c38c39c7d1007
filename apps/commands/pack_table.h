#pragma once

#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/config/exit_codes.h>

namespace headrace::inline v1::app {

/// `headrace pack table`: writes the datasets of an HDF5 file, or the .npy files of a folder, into
/// an HDF5 file that reads fast; reads it back against the checksums; and says how fast random rows
/// came before and after, measured on this machine.
ExitCode pack_table(const PackTableOptions& options);

}  // namespace headrace::inline v1::app
