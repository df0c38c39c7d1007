#pragma once

#include <headrace/apps/run/metrics_writer.h>
#include <headrace/monitor/memory/memory_judge.h>
#include <headrace/monitor/memory/phase_memory.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A part of a run whose memory is told of.
enum class RunPhase : unsigned char {
  training,      ///< the steps of an epoch, and the copy for the checkpoint of the epoch before
  evaluation,    ///< behind them
  end_of_stage,  ///< what comes behind its last epoch: the last checkpoint
  test,          ///< look at the test
};

struct PhaseFacts {
  RunPhase phase = RunPhase::training;
  std::int64_t epoch = 0;  ///< of training and evaluation
  monitor::PhaseMemory memory{};
  monitor::MemoryLimits limits{};
};

/// "training", "end of stage".
const char* name_of(RunPhase phase);

/// Whether it is a part of an epoch.
bool is_of_epoch(RunPhase phase);

/// "memory of training, epoch 3: tensors 1.20 GiB, peak 3.41 GiB; process 5.10 GiB"; epochs are
/// numbered from 1.
std::string phase_line(const PhaseFacts& facts);

/// What phases of a stage took, for the rows of its epochs. Not thread-safe.
class MemoryPhases {
 public:
  /// What is to be said of a stage of so many epochs once this phase of it has ended.
  std::vector<monitor::MemoryRemark> add(const PhaseFacts& facts, std::int64_t epochs);

  /// Cells for the row of the epoch, "training_tensors_bytes" and so on, of phases since the call
  /// before. Those of a GPU alone are there only where there is one.
  MetricRow take_epoch();

  /// A row for a phase that is of no epoch; empty for one that is.
  static MetricRow row(const PhaseFacts& facts);

  const monitor::MemoryJudge& judge() const { return judge_; }

 private:
  monitor::MemoryJudge judge_;
  MetricRow epoch_;
};

}  // namespace headrace::inline v1::app
