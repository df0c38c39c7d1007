#pragma once

#include <headrace/apps/jobs/tones/config.h>
#include <headrace/training/recipe.h>

#include <memory>

namespace headrace::inline v1::app {

/// The job's one course: a network of two convolutions, cross entropy, accuracy.
std::unique_ptr<training::Course> tones_course(const TonesConfig& config);

}  // namespace headrace::inline v1::app
