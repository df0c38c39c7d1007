#pragma once

#include <headrace/engine/runtime/runtime.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

namespace headrace::inline v1::app {

class LiveRun;

/// What a look at a training needs; all of it outlives the look.
struct LiveDumpParts {
  std::filesystem::path folder{};  ///< of the run
  LiveRun& live;
  Runtime runtime;
  std::function<std::string()> account{};         ///< who holds what of the memory: lines
  std::function<void(const std::string&)> say{};  ///< a line to the log; any thread
  std::chrono::milliseconds window{2000};         ///< of the trace
};

/// Writes what a training is doing at this moment to `live-<time>.txt` of its folder, and then what
/// it did in the next two seconds to `trace-<n>.json`, without stopping it; says so in the log.
/// Before there is a stage it says that alone. Ends early when asked to; for one thread at a time.
void dump_live(const LiveDumpParts& parts, const std::stop_token& stop);

}  // namespace headrace::inline v1::app
