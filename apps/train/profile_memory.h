#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/train/train_options.h>

namespace headrace::inline v1::app {

/// `headrace profile-memory`: what each stage takes, by steps in processes of their own, on
/// standard output. The call has a backend.
ExitCode profile_memory(const ProfileMemoryOptions& options, const CommandCall& call);

}  // namespace headrace::inline v1::app
