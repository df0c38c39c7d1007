#pragma once

#include <headrace/apps/config/exit_codes.h>

#include <stop_token>
#include <thread>

namespace headrace::inline v1::app {

/// While it lives, the first SIGINT, SIGTERM or SIGUSR1 (which batch systems send before a job's
/// time is up) asks the run to end in good order, and a second of any of them ends the process at
/// once with the code of that signal. One at a time in a process.
class StopSignals {
 public:
  /// Throws ResourceError when no pipe can be had.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Triggered by the first signal, or by request().
  std::stop_token token() const { return stop_.get_token(); }
  /// Asks for the same end without a signal. Thread-safe.
  void request() { stop_.request_stop(); }
  /// The signal that was received first; 0: none.
  int received() const noexcept;
  /// `done` without a signal, else 128 and its number: 130, 143 or 138.
  ExitCode exit_code() const noexcept;

 private:
  std::stop_source stop_;
  std::jthread listener_;  // a handler may not trigger a stop itself
};

}  // namespace headrace::inline v1::app
