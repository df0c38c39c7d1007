#pragma once

#include <headrace/apps/run/command.h>

namespace headrace::inline v1::app {

/// `headrace prepare glaucoma`: the job's HDF5 file from five classes of Fashion-MNIST (T-shirt,
/// pullover, dress, coat, shirt). A file that was made by the same recipe is kept.
Command prepare_glaucoma_command();

}  // namespace headrace::inline v1::app
