#pragma once

#include <headrace/apps/train/memory_plan.h>
#include <headrace/engine/runtime/runtime.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

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
