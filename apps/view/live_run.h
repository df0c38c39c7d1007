#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/apps/memory/memory_phases.h>
#include <headrace/apps/view/step_trace.h>
#include <headrace/apps/view/trainer_track.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/step_budget.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace headrace::inline v1::app {

/// What a training is doing, for those who look at it from another thread while it trains, however
/// long a step takes; and the trace of some of its steps. Told of everything by the thread that
/// trains.
class LiveRun {
 public:
  explicit LiveRun(bool on_gpu);

  /// From the first stage on.
  void trace_steps(std::unique_ptr<StepTrace> trace) { trace_ = std::move(trace); }

  /// `loader` outlives the stage.
  void begin_fold(const FoldView& fold, Loader& loader);
  void end_fold();
  void on_step(const StepFacts& step);
  void on_train_epoch_end();
  void on_epoch();
  void on_phase(RunPhase phase, std::int64_t epoch);

  /// Place, last step, budget, verdict, queue and stages at this moment: lines. Any thread, as what
  /// follows.
  std::string text() const;
  /// Whether it is known what trains.
  bool has_begun() const;
  /// The trainer's line of a trace, from begin_track() on; one at a time.
  void begin_track();
  monitor::TraceTrack end_track();

 private:
  std::string place() const;
  std::string loader_text() const;

  const bool on_gpu_;
  std::unique_ptr<StepTrace> trace_;  // of the thread that trains
  mutable std::mutex mutex_;          // of all below
  FoldView fold_;
  Loader* loader_ = nullptr;
  std::optional<StepFacts> step_;  // the last one
  std::int64_t step_ns_ = 0;       // when it was told of
  std::string doing_ = "before the first step";
  std::int64_t since_ns_ = 0;  // of what it is doing
  monitor::StepBudgetMeter meter_;
  std::optional<TrainerTrack> track_;
};

class LiveRun;

/// What a look at a training needs; all of it outlives the look.
struct LiveDumpParts {
  std::filesystem::path folder{};  ///< of the run
  LiveRun& live;
  Runtime runtime;
  std::function<std::string()> account{};         ///< who holds what of the memory: lines
  std::function<void(const std::string&)> say{};  ///< a line to the log; any thread
  std::chrono::milliseconds window{2000};         ///< of the trace
};

/// Writes what a training is doing at this moment to `live-<time>.txt` of its folder, and then what
/// it did in the next two seconds to `trace-<n>.json`, without stopping it; says so in the log.
/// Before there is a stage it says that alone. Ends early when asked to; for one thread at a time.
void dump_live(const LiveDumpParts& parts, const std::stop_token& stop);

}  // namespace headrace::inline v1::app
