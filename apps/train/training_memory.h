#pragma once

#include <headrace/apps/train/memory_plan.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// What a stage holds in tensors, and beside them: on the device's forecast, and what a checkpoint
/// takes on the host's; the same one on a CPU. Without measured points only what was counted.
void add_stage_memory(const PlannedStage& stage, monitor::MemoryForecast& device,
                      monitor::MemoryForecast& host);

/// Whether a part of that name is one that the first forecast was given.
bool is_of_tensors(const std::string& part);
/// Whether LibTorch's allocator counts the part: tensors, and nothing beside them.
bool counts_as_tensors(const std::string& part);

/// Adds what a loader will take of the host, its source left out; `name` goes before each item.
/// Gives the bytes that grow with the batch.
std::uint64_t add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                                const Loader& loader);

}  // namespace headrace::inline v1::app
