#pragma once

#include <headrace/apps/jobs/job.h>
#include <headrace/apps/jobs/training_settings.h>
#include <headrace/engine/base/export.h>
#include <headrace/models/networks/activations.h>
#include <headrace/training/stage.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// The stage that a section `training` describes; what is frozen is not said there.
HEADRACE_API training::Stage stage_of(const TrainingSettings& training);

/// All stages of a configuration, with what is frozen in each.
HEADRACE_API std::vector<training::Stage> stages_of(const JobConfig& config);

/// Bytes of a step's activations, or of an evaluation's, whichever is more, for a network that
/// takes so many floats for each value of a sample's input.
HEADRACE_API std::uint64_t step_memory(const training::Stage& stage, std::int64_t values,
                                       std::uint64_t training_floats,
                                       std::uint64_t evaluation_floats);

/// The same of a network that takes so many for each pixel.
HEADRACE_API std::uint64_t step_memory(const training::Stage& stage, std::int64_t pixels,
                                       const models::Activations& activations);

}  // namespace headrace::inline v1::app
