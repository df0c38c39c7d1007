#pragma once

#include <headrace/apps/config/exit_codes.h>

#include <functional>

namespace headrace::inline v1::app {

/// Runs a command of a program and gives the program's exit code. What it throws is reported on
/// standard error, in one line, and becomes the code that belongs to it.
int run_command(const std::function<ExitCode()>& command) noexcept;

}  // namespace headrace::inline v1::app
