#pragma once

#include <headrace/apps/memory/memory_plan.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/memory/memory_forecast.h>

#include <cstdint>
#include <string>
#include <vector>

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

/// What is known of a process's memory at a moment. Bytes.
struct HeldNow {
  std::uint64_t process = 0;  ///< all of it, see monitor::ProcessMemory::held()
  std::uint64_t tensors = 0;  ///< of the host
  std::uint64_t caches = 0;   ///< decoded samples
  std::vector<LoaderHolding> loaders{};
};

/// A part of the process's memory, as it was planned and as it is.
struct MemoryOwner {
  std::string name{};
  std::uint64_t planned = 0;
  std::uint64_t bytes = 0;
};

/// Who holds it, most first: what is counted, each step of a loader that keeps what it takes, and
/// the process with all that is not counted. Of the plan's stage that takes the most. The sum is
/// what the process holds, or more where pages are counted that it has not touched.
std::vector<MemoryOwner> memory_owners(const MemoryPlan& plan, const HeldNow& now);

/// As a table, a line each, and below it which of them holds most beyond what was planned.
std::string to_text(const std::vector<MemoryOwner>& owners);

}  // namespace headrace::inline v1::app
