#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/measure/measure_pace.h>
#include <headrace/apps/run/command.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What `headrace doctor` was asked.
struct DoctorOptions {
  std::filesystem::path config{};  ///< empty: of the environment alone
  std::vector<std::string> settings{};
  double seconds = 5.0;  ///< of each window
  std::filesystem::path json{};
  PaceQuestion trial{};  ///< with an answer: this process is to measure
};

/// Measures three ceilings of a configuration, a process each, looks at the environment, and ends
/// in the one thing to do. Without a configuration the environment alone; 4 where that has an
/// error. Throws ConfigError, ResourceError; where no ceiling could be measured, a Failure with the
/// code of the trial.
ExitCode doctor(const DoctorOptions& options, const CommandCall& call);

}  // namespace headrace::inline v1::app
