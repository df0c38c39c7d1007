#pragma once

#include <headrace/apps/run/stop_signals.h>
#include <headrace/monitor/memory_watch.h>

#include <atomic>
#include <functional>
#include <string>

namespace headrace::inline v1::app {

/// Holds a run under its memory limit: when the process goes over it, says so once, with the
/// figures, and asks the run to end in good order.
class MemoryGuard {
 public:
  /// `say` is called from a thread of the guard's own; it and `signals` outlive the guard.
  MemoryGuard(const monitor::MemoryLimit& limit, StopSignals& signals,
              std::function<void(const std::string&)> say);

  /// Whether the limit was passed at any time. Thread-safe.
  bool over() const noexcept { return over_; }
  monitor::MemoryWatch& watch() noexcept { return watch_; }

 private:
  std::atomic<bool> over_{false};
  monitor::MemoryWatch watch_;
};

}  // namespace headrace::inline v1::app
