#pragma once

#include <headrace/apps/config/exit_codes.h>

#include <functional>
#include <string>

namespace headrace::inline v1::app {

/// Runs a command of a program and gives the program's exit code. What it throws is reported on
/// standard error, in one line that begins with the program's name, and becomes the code that
/// belongs to it.
int run_command(const std::string& program, const std::function<ExitCode()>& command) noexcept;

}  // namespace headrace::inline v1::app
