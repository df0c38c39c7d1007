#pragma once

#include <headrace/apps/job/read_job.h>
#include <headrace/apps/measure/measure_memory.h>
#include <headrace/apps/memory/memory_plan.h>

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

/// Switches, and the least change of the batches that fits with them, where none does without.
struct SwitchesThatFit {
  std::vector<MemorySwitch> changes{};
  StageChange rows{};
};

/// What trying switches has shown.
struct SwitchSearch {
  std::optional<SwitchesThatFit> found{};  ///< the first that is enough, else all together
  /// Where nothing is enough: the least that a micro-batch of least_rows() was measured to take,
  /// and the switches that it took so little with; nothing where it could not be measured.
  std::optional<SplitBytes> least{};
  std::vector<MemorySwitch> of_least{};
};

/// Tries them one after the other, then together, at last with as few rows as can be and all of the
/// machine's memory. Each is a process of its own; says on stderr what it tries.
SwitchSearch switches_to_fit(const SwitchCall& call, const MemoryPlan& plan,
                             const PlannedStage& stage);

/// "checkpointing of all blocks, precision bf16".
std::string to_text(const std::vector<MemorySwitch>& changes);
/// How they are set: "--set training.checkpointed=['*'] --set training.precision=bf16".
std::string advice(const std::vector<MemorySwitch>& changes);

/// Of a stage that does not fit: "a larger card is not needed, the nearest change that fits:
/// training.batch=16"; where it is the host that lacks memory, "more memory is not needed".
std::string fits_with(const MemoryPlan& plan, const PlannedStage& stage, const std::string& change);

/// The same by what a search has shown, or that more is needed, and how much: "a larger card is
/// needed, with 9.10 GiB free at least: even a batch of 2 with precision bf16 takes that; ...".
std::string memory_verdict(const MemoryPlan& plan, const PlannedStage& stage,
                           const SwitchSearch& search);

}  // namespace headrace::inline v1::app
