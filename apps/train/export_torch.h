#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/train/train_options.h>

namespace headrace::inline v1::app {

/// `headrace export`: the best weights of a run's members as safetensors for other programs: the
/// network's own names, those left out that the note "transient" lists, and as metadata "format"
/// ("pt", which timm and transformers look for) and what the recipe says of network and classes.
/// Prints the files it has written.
ExitCode export_weights(const ExportOptions& options);

}  // namespace headrace::inline v1::app
