#pragma once

#include <headrace/apps/train/memory_phases.h>
#include <headrace/apps/train/run_adviser.h>
#include <headrace/monitor/cpu_usage.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

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
