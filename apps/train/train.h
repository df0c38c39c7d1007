#pragma once

#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/run/command.h>

#include <vector>

namespace headrace::inline v1::app {

/// The configuration that `headrace train` works on; its `yaml` is what the run folder keeps,
/// without the member that this call alone is for. Throws ConfigError, for a resumed run also where
/// it would learn something else than it began with. For a trial with the keys of its section
/// `smoke`. What a preset sets is said on standard error.
TrainingJob read_train_job(const TrainOptions& options, const std::vector<Job>& jobs);

/// `headrace train`. The call has a backend, and the command line as typed for the run folder and
/// the resume command.
ExitCode train(const TrainOptions& options, const CommandCall& call);

}  // namespace headrace::inline v1::app
