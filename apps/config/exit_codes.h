#pragma once

#include <headrace/engine/base/error.h>

#include <exception>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// How the programs end.
enum class ExitCode : int {
  done = 0,           ///< also when stopped early by rule
  bug = 1,            ///< unexpected error inside
  configuration = 2,  ///< usage or configuration
  data = 3,           ///< budget of bad samples used up, or nothing to read
  resources = 4,      ///< memory or disk do not suffice
  numeric = 5,        ///< non-finite numbers, by policy
  checkpoint = 6,     ///< unreadable, or of another model or configuration
  device = 7,         ///< asked for and unusable
  goals = 8,          ///< the run is done and saved, but not as good as --require-goals wants it
  interrupted = 130,  ///< SIGINT, with a durable checkpoint
  hang = 134,         ///< found by the watchdog
  warned = 138,       ///< SIGUSR1, by which batch systems warn, with a durable checkpoint
  terminated = 143,   ///< SIGTERM, with a durable checkpoint
};

/// "2 (configuration)"
std::string to_string(ExitCode code);

/// An error of a program that knows its exit code: where no library error says it.
class Failure : public Error {
 public:
  Failure(ExitCode code, const std::string& what) : Error(what), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// The exit code for an error: Failure's own, ConfigError 2, DataError 3, PipelineError 3,
/// ResourceError and std::bad_alloc 4, DeviceError 7, anything else 1.
ExitCode exit_code_of(const std::exception& error) noexcept;

}  // namespace headrace::inline v1::app
