#pragma once

#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/memory/memory_plan.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// A run that was made, and what it will take.
struct PlannedRun {
  std::unique_ptr<TrainingRun> run{};
  MemoryPlan plan{};  ///< with its limits
  MeasuredMemory measured{};
  std::string key{};  ///< see TrainingRun::memory_key()
};

struct PlanOptions {
  std::optional<std::int64_t> member{};  ///< that alone is trained
  std::filesystem::path kept{};          ///< file of what a run has measured before; may be empty
  bool require = true;                   ///< what does not even fit without a step is refused
};

/// Makes the run of a job and its plan; measures its stages where the configuration wants that.
/// Throws what making, measuring and planning throw.
PlannedRun plan_run(const TrainingJob& job, const ChosenDevice& device, TrainingBackend& backend,
                    const PlanOptions& options);

/// What training will take by the steps that were measured, a line for each stage: a step, an
/// epoch, and all epochs of all members, of each as many records as of the first. Without waits for
/// data and evaluations, which were not timed. Empty where a stage was not measured.
std::string time_text(const MemoryPlan& plan, std::size_t members);

}  // namespace headrace::inline v1::app
