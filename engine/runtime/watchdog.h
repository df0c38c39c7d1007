#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// What a loader's watchdog found.
struct HangReport {
  /// A thread of the runtime that is in a stage.
  struct InStage {
    std::string thread{};  ///< its name in the system: "headrace-1", "headrace-io-0"
    std::string loader{};  ///< of the runtime's loaders, the one it works for
    std::string stage{};   ///< as in StageStats::name
    Origin sample{};       ///< index -1: the whole block (gather), or the batch (transfer)
    double seconds = 0;    ///< for at least so long
  };

  std::string loader{};
  double seconds = 0;           ///< since a stage last finished anything
  bool consumer_waits = false;  ///< in next(), or in the loader's end
  std::vector<InStage> stages{};
};

/// Whole lines: what stands still and what every thread is in.
HEADRACE_API std::string to_string(const HangReport& report);

/// Watches for a stage that never returns. Time counts while something is asked of the loader (a
/// thread is in a stage, or the trainer waits in next()) and no stage of any of the runtime's
/// loaders finishes a sample, a block or a batch; a slow stage and a trainer that sleeps do not set
/// it off. Costs a thread that looks a few times in the span, and nothing in the stages.
struct WatchdogOptions {
  std::chrono::nanoseconds after{0};  ///< 0: no watchdog
  /// Called once a hang, on the watchdog's thread; what it throws ends the process. None: the
  /// report goes to LoaderOptions::log as a warning.
  std::function<void(const HangReport&)> action{};
};

}  // namespace headrace::inline v1
