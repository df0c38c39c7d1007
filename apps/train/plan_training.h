#pragma once

#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/view/run_adviser.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// In a run folder: what the memory of its stages was measured to be.
inline constexpr const char* measured_memory_file = "memory.json";

/// A training and the memory that its stages will take.
struct PlannedTraining {
  TrainingJob job{};  ///< as it will be trained
  PlannedRun planned{};
  std::vector<std::string> fitted{};  ///< what was made smaller, a sentence each
  std::uint64_t files_needed = 0;     ///< open at once in the process, at most; files_needed()
};

/// Plans a training that was asked for: with memory.fit in smaller micro-batches where a stage does
/// not fit, but a run that goes on is as it was begun. Throws what plan_run() throws; where that is
/// for want of a resource, limits of the process that are too low are said on standard error first.
PlannedTraining plan_training(const TrainOptions& options, const CommandCall& call, TrainingJob job,
                              const ChosenDevice& device);

/// When and where a run began, and whether another process had begun it.
struct RunStart {
  std::chrono::steady_clock::time_point began{};
  bool goes_on = false;  ///< it does not know which stages it has behind it
  std::string no_gpu{};  ///< ChosenDevice::no_gpu
};

/// What advice on a run of that training is drawn from.
RunAdviserOptions adviser_options(const PlannedTraining& training, const RunStart& start);

/// What would make a stage fit that does not: the nearest change, or that there is none. What is in
/// doubt is measured.
std::string way_out(const PlannedTraining& training, const PlannedStage& stage,
                    const TrainOptions& options, const std::vector<Job>& jobs);

}  // namespace headrace::inline v1::app
