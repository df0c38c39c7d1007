#pragma once

#include <headrace/apps/jobs/job.h>
#include <headrace/apps/jobs/training_settings.h>
#include <headrace/engine/base/export.h>
#include <headrace/training/stage.h>

#include <vector>

namespace headrace::inline v1::app {

/// The stage that a section `training` describes; what is frozen is not said there.
HEADRACE_API training::Stage stage_of(const TrainingSettings& training);

/// All stages of a configuration, with what is frozen in each.
HEADRACE_API std::vector<training::Stage> stages_of(const JobConfig& config);

}  // namespace headrace::inline v1::app
