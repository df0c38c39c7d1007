#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/train/train_options.h>

namespace headrace::inline v1::app {

/// `headrace train`. The call has a backend, and the command line as typed for the run folder and
/// the resume command.
ExitCode train(const TrainOptions& options, const CommandCall& call);

}  // namespace headrace::inline v1::app
