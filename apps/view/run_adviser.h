#pragma once

#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/figures/reports.h>
#include <headrace/apps/memory/memory_phases.h>
#include <headrace/apps/view/system_log.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/monitor/advice/adviser.h>
#include <headrace/monitor/advice/loader_threads.h>
#include <headrace/monitor/system/cpu_usage.h>
#include <headrace/monitor/system/file_limits.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run's advice is drawn from beside its epochs.
struct RunAdviserOptions {
  bool on_gpu = false;
  std::string no_gpu{};  ///< why an automatic choice of the device took the CPU; empty: it did not
  monitor::SettingFacts settings{};
  std::vector<monitor::SettingFacts> stage_settings{};  ///< of each in a list, instead of those
  /// Files that the process will have open at most, those that others opened in it among them.
  std::uint64_t files_needed = 0;
  std::optional<double> seconds_wanted{};  ///< that the run may take, from `began` on
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::int64_t epochs = 0;  ///< of all stages of all members; 0: unknown, those of the stage
  /// Of the data's files; asked once, when an epoch waits for reads, since it looks at each file.
  /// May be empty.
  std::function<std::uint64_t()> data_bytes{};
  /// Of all records decoded; asked once, when an epoch waits for reads or the decoder and the
  /// records could be cached, since it opens their outlines. May be empty.
  std::function<std::uint64_t()> decoded_bytes{};
};

/// A stage before its first step.
struct AdvisedStage {
  std::int64_t number = 0;  ///< in the list of its member's stages
  std::int64_t epochs = 0;
  std::int64_t records = 0;      ///< of an epoch; 0: unknown
  std::uint64_t slab_bytes = 0;  ///< of its loader, to be page-locked; 0: they need not be
};

/// An epoch as the rules look at it.
struct AdvisedEpoch {
  const EpochFacts& epoch;
  std::int64_t epochs = 0;  ///< of the stage
  const monitor::StepBudget& budget;
  const monitor::Verdict& verdict;
  const LoaderStats& stats;  ///< of its training part
  const SystemWindow& system;
  /// The process's, of its training part: without a sample in that it stands for the machine's.
  monitor::CpuUsage usage{};
};

/// Draws the facts of a run's epochs together for the rules of advice. Not thread-safe.
class RunAdviser {
 public:
  explicit RunAdviser(RunAdviserOptions options) : options_(std::move(options)) {}

  /// Before anything is opened: which limits of the process are too low for the run.
  std::vector<monitor::Advice> on_start();
  /// What was said of a stage is not said again of the next.
  void begin_stage(const AdvisedStage& stage = {});
  /// Where the loader's statistics begin anew.
  void begin_training_part();
  /// Behind an epoch's last step: what is read from here on is not of its training part.
  void on_train_epoch_end();
  /// Before the epoch whose part it is.
  void on_phase(const PhaseFacts& phase, const monitor::MemoryJudge& judge);
  /// What is to be said of it, the worst first.
  std::vector<monitor::Advice> on_epoch(const AdvisedEpoch& epoch);

 private:
  monitor::RunFacts facts_of(const AdvisedEpoch& epoch);
  std::optional<monitor::RunFacts::Files> limits(std::optional<bool> page_locked) const;
  void drop_told_limits(std::vector<monitor::Advice>& all);
  const monitor::SettingFacts& settings() const;
  void add_time(monitor::RunFacts& facts) const;
  void add_sizes(const monitor::Verdict& verdict, monitor::SettingFacts& settings);

  RunAdviserOptions options_;
  monitor::Adviser adviser_;
  monitor::AdviceMemory limits_said_;  // of the process, not of a stage
  AdvisedStage stage_;
  std::int64_t epochs_before_ = 0;  // of the stages before, as they were planned
  std::optional<std::uint64_t> data_bytes_;
  std::optional<std::uint64_t> decoded_bytes_;
  std::uint64_t held_ = 0;  // by the process, at the end of the last phase
  ReadWindow window_;
  std::optional<monitor::ReadFacts> reads_;                   // of the epoch
  monitor::RunFacts of_phases_;                               // of the epoch
  std::optional<monitor::LoaderThreadTimes> threads_before_;  // the training part
  std::optional<monitor::LoaderThreadTimes> threads_;         // of it
  std::vector<double> epoch_seconds_;
  double from_storage_ = 0.0;  // bytes, in training parts of the stage
};

/// Accuracy of a validation beside that of always saying its most frequent class; nothing where
/// either is not known.
std::optional<monitor::RunFacts::Learning> learning_facts(const EpochFacts& epoch);

class RunFolder;
class RunVoice;

/// What held an epoch's training part back: its steps, what its loader counted, the process's CPU.
monitor::Verdict epoch_verdict(const monitor::StepBudget& budget, const LoaderStats& stats,
                               const monitor::CpuUsage& usage);

/// Says what holds a run back: a verdict where it is another one than that of the epoch before,
/// advice, and remarks on its memory; the last two go to advice.jsonl as well. Not thread-safe.
class RunAdvice {
 public:
  /// Folder and voice outlive it.
  RunAdvice(RunFolder& folder, RunVoice& voice, RunAdviserOptions options);

  /// Before anything is opened: limits of the process.
  void on_start() { say(adviser_.on_start()); }
  void begin_stage(const AdvisedStage& stage) { adviser_.begin_stage(stage); }
  void begin_training_part() { adviser_.begin_training_part(); }
  void on_train_epoch_end() { adviser_.on_train_epoch_end(); }
  void on_phase(const PhaseFacts& phase, const monitor::MemoryJudge& judge) {
    adviser_.on_phase(phase, judge);
  }
  void on_epoch(const AdvisedEpoch& epoch) { say(adviser_.on_epoch(epoch)); }

  /// To the log, and where it is another one than before to the terminal.
  void say(const monitor::Verdict& verdict);
  void say(const std::vector<monitor::MemoryRemark>& remarks);

 private:
  void say(const std::vector<monitor::Advice>& all);

  RunFolder& folder_;
  RunVoice& voice_;
  RunAdviser adviser_;
  std::string last_verdict_;  // band and bottleneck
};

}  // namespace headrace::inline v1::app
