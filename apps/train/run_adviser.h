#pragma once

#include <headrace/apps/train/memory_phases.h>
#include <headrace/apps/train/reports.h>
#include <headrace/apps/train/system_log.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/monitor/adviser.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run's advice is drawn from beside its epochs.
struct RunAdviserOptions {
  bool on_gpu = false;
  monitor::SettingFacts settings{};
};

/// An epoch as the rules look at it.
struct AdvisedEpoch {
  const EpochFacts& epoch;
  std::int64_t epochs = 0;  ///< of the stage
  const monitor::StepBudget& budget;
  const monitor::Verdict& verdict;
  const LoaderStats& stats;  ///< of its training part
  const SystemWindow& system;
};

/// Draws the facts of a run's epochs together for the rules of advice. Not thread-safe.
class RunAdviser {
 public:
  explicit RunAdviser(RunAdviserOptions options) : options_(std::move(options)) {}

  void begin_stage();
  /// Before the epoch whose part it is.
  void on_phase(const PhaseFacts& phase, const monitor::MemoryJudge& judge);
  /// What is to be said of it, the worst first.
  std::vector<monitor::Advice> on_epoch(const AdvisedEpoch& epoch);

 private:
  monitor::RunFacts facts_of(const AdvisedEpoch& epoch);

  RunAdviserOptions options_;
  monitor::Adviser adviser_;
  monitor::RunFacts of_phases_;  // of the epoch
  std::vector<double> epoch_seconds_;
};

/// Accuracy of a validation beside that of always saying its most frequent class; nothing where
/// either is not known.
std::optional<monitor::RunFacts::Learning> learning_facts(const EpochFacts& epoch);

}  // namespace headrace::inline v1::app
