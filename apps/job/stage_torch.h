#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/apps/job/training_settings.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/training/recipe.h>
#include <headrace/training/stage/stage.h>

#include <vector>

#include <c10/core/Device.h>

namespace headrace::inline v1::app {

/// The same device in LibTorch's words.
HEADRACE_API c10::Device torch_device(Device device);

/// The stage that a section `training` describes; what is frozen is not said there.
HEADRACE_API training::Stage stage_of(const TrainingSettings& training);

/// All stages of a configuration, with what is frozen in each.
HEADRACE_API std::vector<training::Stage> stages_of(const JobConfig& config);

/// Of a job that does not say which figures its validations have (`JobConfig::plateau_figures`):
/// throws ConfigError for a plateau over one that is neither the loss nor a term of it, nor what
/// selects, nor a figure that the validation's metric has before its first case.
void check_plateaus(const JobConfig& config, const training::Course& course);

}  // namespace headrace::inline v1::app
