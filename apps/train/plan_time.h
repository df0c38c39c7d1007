#pragma once

#include <headrace/apps/train/memory_plan.h>

#include <cstddef>
#include <string>

namespace headrace::inline v1::app {

/// What training will take by the steps that were measured, a line for each stage: a step, an
/// epoch, and all epochs of all members, of each as many records as of the first. Without waits for
/// data and evaluations, which were not timed. Empty where a stage was not measured.
std::string time_text(const MemoryPlan& plan, std::size_t members);

}  // namespace headrace::inline v1::app
