#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/apps/memory/memory_phases.h>
#include <headrace/apps/run/log_level.h>
#include <headrace/apps/view/run_adviser.h>
#include <headrace/apps/view/step_rows.h>
#include <headrace/apps/view/system_log.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory/memory_watch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

class LiveRun;
class RunFolder;

struct RunViewOptions {
  bool on_gpu = false;
  LogLevel level = LogLevel::info;
  MetricsLogOptions metrics{};
  RunAdviserOptions advice{};  ///< its `on_gpu` is that above
  /// LibTorch's counters of the GPU's memory; may be empty. Called by a thread of the view's.
  std::function<std::optional<monitor::AllocatorCounters>()> allocator{};
};

/// Shows a training run to a person and writes it to the run folder: a live block or whole lines, a
/// line of a table after each epoch, a verdict whenever it is another one than that of the epoch
/// before (log.txt has it for every epoch), metrics, the machine (system.jsonl, a row a second) and
/// advice, and what sources have to say while it lives. Used by the thread that trains, but for
/// info() and warn().
class RunView {
 public:
  /// The folder outlives the view.
  explicit RunView(RunFolder& folder, const RunViewOptions& options = {});
  ~RunView();
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  /// A line to the log and, above the block, to the terminal. Thread-safe.
  void info(const std::string& line);
  void warn(const std::string& line);
  /// A line that a person needs whatever the level, the command to go on with say.
  void tell(const std::string& line);
  /// Lines to the log file alone: results go to standard output as well, and what ends the run is
  /// said on standard error by the program.
  void note(const std::string& line);
  void note_error(const std::string& line);
  /// A line of events.jsonl (docs/reports.md). Thread-safe.
  void event(const std::string& name, const MetricRow& facts);
  /// How long it took to read the data that stays in memory; says nothing of no bytes.
  void data_read(std::uint64_t bytes, double seconds);

  /// Warns of limits of the process that are too low for what the run needs; before its data are
  /// opened.
  void say_limits();

  /// From now on steps are of this member; `loader` feeds it and outlives it.
  void begin_fold(const FoldView& fold, Loader& loader);
  void end_fold();

  void on_step(const StepFacts& step);
  /// To the run folder; what is done about it is said by warn(), or ends the run.
  void on_bad_step(const BadStepFacts& bad);
  /// Behind an epoch's last step: what the loader does from here on is not of its training part.
  void on_train_epoch_end();
  void on_epoch(const EpochFacts& epoch, const monitor::MemoryWatch& memory);
  /// What a phase took, behind it: a line of the log, which the terminal shows from `debug` on,
  /// cells of the epoch's row (so an evaluation's comes before on_epoch()), and a warning where
  /// something is wrong with the run's memory. A stage's test comes behind its end.
  void on_phase(const PhaseFacts& phase);

  /// Share of the steps' time that waited for data, over all epochs so far and after warm-up;
  /// nothing before the first ends.
  std::optional<double> data_wait_share() const;
  /// What the machine did so far.
  SystemTotals system() const;
  /// What it was told of, for others who look at the run; thread-safe as it says.
  LiveRun& live();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::inline v1::app
