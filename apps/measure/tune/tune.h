#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/measure/measure_pace.h>
#include <headrace/apps/measure/tune/tune_candidates.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/stop_signals.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace headrace::inline v1::app {

/// What `headrace tune` was asked.
struct TuneOptions {
  std::filesystem::path config{};
  std::vector<std::string> settings{};
  std::string preset{};              ///< set before `settings`; empty: none
  int cpu = 0;                       ///< cores that the run may use; 0: those there are
  std::uint64_t memory = 0;          ///< bytes that it may hold; 0: what the machine has free
  double minutes = 10.0;             ///< for all trials together
  double seconds = 3.0;              ///< of a trial's window
  std::vector<std::string> allow{};  ///< what may change that is learnt: "batch", "decode"
  std::filesystem::path output{};    ///< of the tuned configuration; empty: beside `config`
  std::filesystem::path json{};
};

/// How a trial of a change ended.
enum class TuneOutcome : unsigned char { kept, no_gain, refused, failed, too_large };
std::string_view to_string(TuneOutcome outcome);

/// A change that was tried.
struct TunedStep {
  TuneCandidate candidate{};
  double got = 0.0;     ///< samples/s, median of its trials
  double beside = 0.0;  ///< of the configuration without it, measured in turn
  double gain = 0.0;    ///< median of the ratios of neighbours, less 1
  double spread = 0.0;  ///< half of the range of what was got, of its median
  int trials = 0;       ///< of each of the two
  TuneOutcome outcome = TuneOutcome::no_gain;
  std::string why{};  ///< of one that was refused or failed
};

/// What a search came to.
struct Tuned {
  WholeConfiguration configuration{};  ///< the best
  std::vector<KeyChange> changes{};    ///< to what was given, a key once
  std::vector<TunedStep> steps{};
  PaceInput input = PaceInput::memory;  ///< that was tried with
  double device_per_s = 0.0;            ///< samples/s; 0: without a model
  double before = 0.0;                  ///< samples/s of what was given, first trial; 0: unknown
  double after = 0.0;                   ///< of the best, in its last trial
  std::string ended{};                  ///< why no more was tried
};

/// Measures a configuration; a trial in a process of its own, but for tests. One that it ends
/// because the time is up is `stopped`.
using MeasurePace = std::function<PaceResult(const WholeConfiguration&, PaceInput)>;

/// What a search needs beside the configuration.
struct TuneSearch {
  const std::vector<Job>& jobs;
  TuneBudget budget{};
  std::vector<KeyChange> given{};  ///< that the configuration has already; changes begin with them
  double seconds = 600.0;          ///< for all
  MeasurePace measure{};
  std::function<void(const std::string&)> tell{};  ///< a line a trial; may be empty
  std::stop_token stop{};                          ///< once it is requested nothing more is tried
};

/// Tries changes one by one, each beside the configuration without it, and keeps what gains 2 % and
/// fits the budget; what is learnt stays. Ends when two in a row gained less and the model sees
/// nothing more, with the step's own pace, with the time, or when it is to stop: what was being
/// tried is left out then. Throws a Failure with the code of the trial where the configuration
/// itself has no pace, ConfigError where the time is up before that is known.
Tuned tune_configuration(const WholeConfiguration& configuration, const TuneSearch& search);

/// A line for each trial, predicted beside got, and the changes; no line is wider than `columns`,
/// but a narrow table's.
std::string tuned_text(const Tuned& tuned, std::size_t columns = 100);
std::string tuned_json(const Tuned& tuned, const std::string& configuration);

/// Tunes a configuration file and writes the best beside it; a signal to stop ends the search, and
/// what was kept until then is written. A file that is there stays where nothing was kept.
ExitCode tune(const TuneOptions& options, const CommandCall& call);

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
