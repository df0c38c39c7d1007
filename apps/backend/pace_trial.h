#pragma once

#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/feed/read_window.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/monitor/advice/loader_threads.h>
#include <headrace/monitor/advice/run_facts.h>
#include <headrace/monitor/advice/verdict.h>
#include <headrace/monitor/step_budget.h>
#include <headrace/monitor/system/system_facts.h>
#include <headrace/monitor/system/system_sampler.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {
class Loader;
}

namespace headrace::inline v1::app {

/// Where the batches of a pace trial come from.
enum class PaceInput : unsigned char {
  device_only,  ///< one batch, kept on the device and used again: no loader
  memory,       ///< records that were read once just before
  storage,      ///< records that the page cache has dropped
};

/// "device", "memory" or "storage".
std::string_view to_string(PaceInput input);
/// The input of that word; nothing for any other.
std::optional<PaceInput> parse_pace_input(std::string_view word);

/// How long a trial may be, and what it reads.
struct PaceOptions {
  PaceInput input = PaceInput::memory;
  double seconds = 5.0;  ///< of the measured window
  std::int64_t least_steps =
      20;  ///< the window grows for these, to three times its seconds at most
  /// Called when all is open and no record was read for a batch, and of storage between epochs; may
  /// be empty.
  std::function<void()> before_reading{};
};

/// The pace of a pipeline, with its training step or without a model. The window begins behind the
/// warm-up.
struct PaceResult {
  PaceInput input = PaceInput::memory;
  std::string stage{};                 ///< of the training; empty without a model
  std::int64_t samples = 0;            ///< of the window
  std::int64_t samples_per_epoch = 0;  ///< of the pipeline; 0 without a loader
  monitor::StepBudget budget{};        ///< of the window
  LoaderStats stats{};                 ///< of the window; nothing of a device alone
  double window_s = 0.0;               ///< by a clock of its own
  double open_s = 0.0;                 ///< for what is kept in memory
  double first_batch_s = 0.0;          ///< from the request to the first batch
  unsigned cores = 1;                  ///< that the trial could use
  unsigned outside = 0;                ///< CPUs of the machine that it could not
  double process_cores = 0.0;          ///< CPU time / time, of the window
  double process_share = 0.0;          ///< the same, of `cores`
  /// Of the window; nothing without schedstat.
  std::optional<monitor::LoaderThreadTimes> threads{};
  std::optional<double> io_pressure{};          ///< share of the window; nothing without PSI
  double machine_share = 0.0;                   ///< busy share of all CPUs
  double read_per_s = 0.0;                      ///< bytes that the trial asked for
  double read_from_disk_per_s = 0.0;            ///< bytes that storage had to give
  std::vector<monitor::ProcessUsage> others{};  ///< not of the trial, busiest first
  std::optional<monitor::GpuFacts> gpu{};       ///< of the window, of a trial on a GPU
  std::uint64_t open_files = 0;                 ///< at the window's end; 0: unknown
  /// Out of chunks, of the window; nothing where none was unpacked, and of a device alone.
  std::optional<monitor::ReadFacts> reads{};
  std::uint64_t peak_held = 0;           ///< most bytes that the process held
  std::uint64_t forecast = 0;            ///< bytes that it was to hold, activations left out
  bool cold = false;                     ///< of storage: the page cache had dropped the data
  std::string storage{};                 ///< of storage: how cold it was, or why it is memory
  std::string failed{};                  ///< why there is no pace; empty: there is one
  bool without_resources = false;        ///< it was memory, threads or the like that were missing
  bool refused = false;                  ///< the configuration cannot be
  bool stopped = false;                  ///< it has no pace because who started it has ended it
  ExitCode ended_with = ExitCode::done;  ///< of a trial that failed, known to who started it

  double samples_per_s() const {
    return budget.wall_s > 0.0 ? static_cast<double>(samples) / budget.wall_s : 0.0;
  }
  /// The mean step, in seconds.
  double step_s() const {
    return budget.steps > 0 ? budget.wall_s / static_cast<double>(budget.steps) : 0.0;
  }
  /// The machine over the window, but for memory. Who waits for storage while a trial reads from
  /// memory is somebody else: then that pressure is unknown.
  monitor::MachineFacts machine() const;
  /// What the window says of the loader, without an advice, which the rules give; cannot tell of a
  /// device alone.
  monitor::Verdict verdict() const;
};

/// As JSON, for another process and for files.
std::string to_json(const PaceResult& result);
/// Throws ConfigError for text that is none.
PaceResult parse_pace_result(std::string_view text);

/// Adds up the steps of a trial: leaves the warm-up out, and says when it has seen enough. Not
/// thread-safe.
class PaceWindow {
 public:
  /// The warm-up has so many steps at least, and a fifth of the seconds.
  PaceWindow(const PaceOptions& options, std::size_t warmup_steps, bool on_gpu);

  /// Whose statistics begin anew with the window; null: there is none. Outlives the window.
  void watch(Loader* loader) { loader_ = loader; }
  /// Adds a step; true once no other is wanted.
  bool add(const monitor::StepTimes& times, std::int64_t samples);
  /// What was seen. Of a trial too short for its warm-up all but the first step.
  void finish(PaceResult& result);

 private:
  using Clock = std::chrono::steady_clock;

  void begin();
  void look();
  void add_machine(PaceResult& result);

  PaceOptions options_;
  std::size_t warmup_steps_;
  bool on_gpu_;
  Loader* loader_ = nullptr;
  monitor::StepBudgetMeter meter_;
  monitor::SystemSampler sampler_;
  monitor::SystemFacts facts_;  // of the samples since the window began
  ReadWindow reads_;
  std::optional<monitor::LoaderThreadTimes> threads_;  // as the window began
  struct Step {
    monitor::StepTimes times{};
    std::int64_t samples = 0;
  };
  std::vector<Step> warmup_;
  double warmup_s_ = 0.0;
  double window_s_ = 0.0;  // of its steps
  std::int64_t steps_ = 0;
  std::int64_t samples_ = 0;
  bool began_ = false;
  double first_batch_s_ = 0.0;
  std::uint64_t peak_held_ = 0;
  Clock::time_point began_at_ = Clock::now();
  Clock::time_point looked_at_{};
  Clock::time_point sampled_at_{};
};

/// Whether a trial takes its batches once before it measures them: of memory, and where a cache of
/// decoded records is to hold what it holds in later epochs.
bool reads_twice(const PaceOptions& options);

/// Calls `before_reading` of a trial of storage.
void between_epochs(const PaceOptions& options);

/// Takes the batches of an epoch once, so that their records are in memory: for the trial's
/// seconds, three times as long where there are not as many batches as `batches`. Gives how many
/// were taken; nothing where all of the epoch were. Throws what the loader throws.
std::optional<std::int64_t> warm_up(Loader& loader, const PaceOptions& options,
                                    std::int64_t batches);

}  // namespace headrace::inline v1::app
