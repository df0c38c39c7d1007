#pragma once

#include <headrace/apps/jobs/run_settings.h>

#include <cstdint>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// What a run has taken at most, in bytes.
struct MemoryPeaks {
  std::uint64_t ram = 0;  ///< that the process held
  std::optional<std::uint64_t> gpu_memory =
      {};  ///< that was reserved of a GPU; none: none was used
};

/// A line for each goal, with its line end: what was wanted, what came, "pass" or "FAIL".
std::string goals_text(const MemoryGoals& goals, const MemoryPeaks& peaks);

}  // namespace headrace::inline v1::app
