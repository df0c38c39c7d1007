#pragma once

#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/config/exit_codes.h>

namespace headrace::inline v1::app {

/// `headrace prepare glaucoma`: the job's HDF5 file from five classes of Fashion-MNIST (T-shirt,
/// pullover, dress, coat, shirt). A file that was made by the same recipe is kept.
ExitCode prepare_glaucoma(const PrepareGlaucomaOptions& options);

}  // namespace headrace::inline v1::app
