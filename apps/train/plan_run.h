#pragma once

#include <headrace/apps/train/training_backend.h>

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

}  // namespace headrace::inline v1::app
