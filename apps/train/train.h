#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/train/train_options.h>
#include <headrace/apps/train/training_run.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// `headrace train`. `arguments` is the command line as typed, for the run folder and the resume
/// command.
ExitCode train(const TrainOptions& options, const std::vector<std::string>& arguments,
               TrainingBackend& backend);

}  // namespace headrace::inline v1::app
