#pragma once

#include <headrace/apps/train/memory_plan.h>
#include <headrace/apps/train/memory_switches.h>

#include <string>

namespace headrace::inline v1::app {

/// Of a stage that does not fit: "a larger card is not needed, the nearest change that fits:
/// training.batch=16"; where it is the host that lacks memory, "more memory is not needed".
std::string fits_with(const MemoryPlan& plan, const PlannedStage& stage, const std::string& change);

/// The same by what a search has shown, or that more is needed, and how much: "a larger card is
/// needed, with 9.10 GiB free at least: even a batch of 2 with precision bf16 takes that; ...".
std::string memory_verdict(const MemoryPlan& plan, const PlannedStage& stage,
                           const SwitchSearch& search);

}  // namespace headrace::inline v1::app
