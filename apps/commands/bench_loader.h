#pragma once

#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/config/exit_codes.h>

namespace headrace::inline v1::app {

/// `headrace bench loader`: runs the pipeline of a configuration of any kind without a model. The
/// report goes to standard output. Refuses before reading when memory would not suffice.
ExitCode bench_loader(const BenchLoaderOptions& options);

}  // namespace headrace::inline v1::app
