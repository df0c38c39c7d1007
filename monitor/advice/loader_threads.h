#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>
#include <optional>

namespace headrace::inline v1::monitor {

/// What threads did, summed over them, in seconds.
struct ThreadTime {
  double cpu_s = 0.0;     ///< on a core
  double queued_s = 0.0;  ///< ready to run, but without a core

  ThreadTime operator-(const ThreadTime& before) const {
    return {.cpu_s = cpu_s - before.cpu_s, .queued_s = queued_s - before.queued_s};
  }
};

/// Of the threads that do a loader's work.
struct LoaderThreadTimes {
  ThreadTime workers{};
  ThreadTime io{};
};

/// Of the loaders' threads that this process has now, since they began, by the kernel's schedstat
/// below `root`; nothing where it keeps none. Some 20 us a thread.
HEADRACE_API std::optional<LoaderThreadTimes> read_loader_threads(
    const std::filesystem::path& root = "/");

/// What they did since; nothing where either is not known.
HEADRACE_API std::optional<LoaderThreadTimes> loader_threads_since(
    const std::optional<LoaderThreadTimes>& before, const std::filesystem::path& root = "/");

}  // namespace headrace::inline v1::monitor
