#pragma once

#include <headrace/apps/job/read_job.h>
#include <headrace/apps/memory/memory_plan.h>

#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The text of a job's configuration with its stages changed, one change for each. Stages that are
/// one as it is have their keys in the section `training`.
std::string fitted_yaml(const TrainingJob& job, const std::vector<StageChange>& changes);

/// The same with one key ("training.checkpointed") set to YAML text, in every stage that has it.
/// Nothing where the kind has no such key, or where it has that value.
std::optional<std::string> yaml_with(const TrainingJob& job, const std::string& path,
                                     const std::string& value);

/// Whether a stage of a list has the key, so that what the section `training` says does not reach
/// it.
bool is_of_stages(const TrainingJob& job, const std::string& path);

/// What is to be changed of each stage of a plan, if it is anything and possible at all.
std::vector<StageChange> changes_to_fit(const MemoryPlan& plan);

}  // namespace headrace::inline v1::app
