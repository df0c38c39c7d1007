#pragma once

#include <headrace/apps/jobs/read_job.h>
#include <headrace/apps/train/measure_memory.h>
#include <headrace/apps/train/memory_plan.h>

#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// One key that changes what a stage takes.
struct MemorySwitch {
  std::string what{};      ///< "checkpointing of all blocks"
  std::string path{};      ///< "training.checkpointed"
  std::string value{};     ///< YAML
  bool of_stages = false;  ///< some of training.stages have the key themselves: it is set there

  /// "training.checkpointed=['*']", as --set takes it.
  std::string setting() const { return path + '=' + value; }
  /// "--set training.ema=0.0", or where that would not reach each stage "in training.stages: ema:
  /// 0.0".
  std::string advice() const;
};

/// What can be switched in a job's configuration, what changes least of what is learnt first.
std::vector<MemorySwitch> switches_of(const TrainingJob& job);

/// What a stage takes with a switch.
struct SwitchedStage {
  MemorySwitch change{};
  MeasuredStage measured{};  ///< without points where it could not be measured
  std::string failed{};      ///< why; a network without blocks, say
};

/// What measuring with a switch needs to know.
struct SwitchCall {
  const TrainingJob& job;
  const std::vector<Job>& jobs;
  std::string stage{};
  MeasureOptions options{};
  std::optional<std::int64_t> member{};
};

SwitchedStage measure_switch(const SwitchCall& call, const MemorySwitch& change);

/// A switch, and the least change of the batches that fits with it, where none does without.
struct SwitchThatFits {
  MemorySwitch change{};
  StageChange rows{};
};

/// The first switch with which the stage fits; tries them one after the other.
std::optional<SwitchThatFits> switch_to_fit(const SwitchCall& call, const MemoryPlan& plan,
                                            const PlannedStage& stage);

}  // namespace headrace::inline v1::app
