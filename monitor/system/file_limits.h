#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/advice/run_facts.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

namespace headrace::inline v1::monitor {

/// A limit that is not set.
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// What a run asks of the limits of its process.
struct FileNeeds {
  std::uint64_t open = 0;    ///< files that its loader has open at once, at most
  std::uint64_t locked = 0;  ///< bytes that it keeps page-locked
};

/// What the kernel lets this process open and lock, beside what it needs: for the rule of advice on
/// limits. `needed` has what is open already in it. Reads proc/self below `root`, some
/// microseconds and as much as a look at each open file; nothing where the limits cannot be read.
HEADRACE_API std::optional<RunFacts::Files> read_file_limits(
    const FileNeeds& needs = {}, const std::filesystem::path& root = "/");

}  // namespace headrace::inline v1::monitor
