#pragma once

namespace headrace::inline v1::app {

/// Replaces this process by the program `headrace-train` with the same arguments: it lies beside
/// this program, or in ../libexec/headrace. Returns only by throwing ConfigError (it was not built)
/// or ResourceError (it cannot be started).
[[noreturn]] void start_train_program(char** argv);

}  // namespace headrace::inline v1::app
