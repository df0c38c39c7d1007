#include <headrace/apps/doctor/tune_trials.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace headrace::inline v1::app {
namespace {

constexpr double seconds_per_minute = 60.0;

void end_after(double seconds, std::stop_source& end, const std::stop_token& unneeded) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, unneeded, std::chrono::duration<double>(seconds), [] { return false; });
  if (!unneeded.stop_requested()) end.request_stop();
}

}  // namespace

PaceQuestion trial_question(const TuneOptions& options, const TuneBudget& budget, PaceInput input) {
  return {
      .input = input, .seconds = options.seconds, .cores = options.cpu, .memory = budget.memory};
}

TuneTrials::TuneTrials(const TuneOptions& options, const TuneBudget& budget)
    : options_(options),
      budget_(budget),
      on_signal_(signals_.token(), [this] { end_.request_stop(); }),
      timer_([this](const std::stop_token& unneeded) {
        end_after(seconds_per_minute * options_.minutes, end_, unneeded);
      }) {}

PaceResult TuneTrials::measure(const WholeConfiguration& configuration, PaceInput input) {
  PaceResult pace =
      pace_apart(configuration.yaml(), trial_question(options_, budget_, input), end_.get_token());
  const bool interrupted = pace.ended_with == ExitCode::interrupted ||
                           pace.ended_with == ExitCode::terminated ||
                           pace.ended_with == ExitCode::warned;
  // A signal of a terminal ends the trial too, perhaps before this process is told.
  if (interrupted) {
    trial_ended_with_ = pace.ended_with;
    signals_.request();
  }
  return pace;
}

ExitCode TuneTrials::exit_code() const {
  return signals_.received() != 0 ? signals_.exit_code() : trial_ended_with_;
}

}  // namespace headrace::inline v1::app
