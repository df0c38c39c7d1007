#pragma once

#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/memory/memory_plan.h>
#include <headrace/apps/run/memory_guard.h>

namespace headrace::inline v1::app {

/// What a run can give up of its memory: decoded samples, and what its loaders hold; and who holds
/// what, beside what the plan said. Plan and run outlive what uses it.
MemoryRelief memory_relief(const MemoryPlan& plan, const TrainingRun& run);

}  // namespace headrace::inline v1::app
