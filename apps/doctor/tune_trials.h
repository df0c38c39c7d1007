#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/doctor/tune.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/train/measure_pace.h>

#include <functional>
#include <stop_token>
#include <thread>

namespace headrace::inline v1::app {

/// What a trial is asked: `--cpu` alone binds it to cores, a limit of time on them does not.
PaceQuestion trial_question(const TuneOptions& options, const TuneBudget& budget, PaceInput input);

/// The trials of a search, each in a process of its own. A signal to stop ends the one at hand, and
/// so does the time, which counts from the construction. One at a time in a process; not
/// thread-safe.
class TuneTrials {
 public:
  /// Both outlive it. Throws ResourceError where there is no thread or pipe.
  TuneTrials(const TuneOptions& options, const TuneBudget& budget);

  /// See pace_apart().
  PaceResult measure(const WholeConfiguration& configuration, PaceInput input);
  /// Requested by a signal alone.
  std::stop_token stop() const { return signals_.token(); }
  /// That of the signal that this process, or else a trial alone, has received; without one `done`.
  ExitCode exit_code() const;

 private:
  const TuneOptions& options_;
  const TuneBudget& budget_;
  StopSignals signals_;
  std::stop_source end_;
  std::stop_callback<std::function<void()>> on_signal_;
  ExitCode trial_ended_with_ = ExitCode::done;
  std::jthread timer_;
};

}  // namespace headrace::inline v1::app
