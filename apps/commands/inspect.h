#pragma once

#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/config/exit_codes.h>

namespace headrace::inline v1::app {

/// `headrace inspect`: what a data set holds, what is bad in it and why, and a contact sheet of
/// what a pipeline feeds. ExitCode::data when a file is bad.
ExitCode inspect(const InspectOptions& options);

}  // namespace headrace::inline v1::app
