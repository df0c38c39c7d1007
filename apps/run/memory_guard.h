#pragma once

#include <headrace/apps/run/stop_signals.h>
#include <headrace/monitor/memory/memory_ladder.h>
#include <headrace/monitor/memory/memory_watch.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run can do about the memory that it holds; what is empty cannot be done. Called from a
/// thread of the guard's own.
struct MemoryRelief {
  /// Caches let go of as much, or of all that they have; gives what came of it.
  std::function<std::uint64_t(std::uint64_t bytes)> evict{};
  std::function<void(double share)> set_share{};  ///< see Runtime::set_share()
  std::function<void(bool paused)> set_paused{};  ///< see Runtime::set_paused()
  std::function<std::string()> account{};         ///< who holds what: lines
};

/// Holds a run under its memory limit and those that the kernel holds it to: looks five times a
/// second, a cgroup every two seconds while it is far from its limit, gives up what MemoryLadder
/// says and tells of it, and asks the run to end in good order where nothing helped. Below 95 % of
/// the limit it only looks.
class MemoryGuard {
 public:
  /// `say` is called from a thread of the guard's own; it, what `relief` uses and `signals` outlive
  /// the guard.
  MemoryGuard(const monitor::MemoryLimit& limit, StopSignals& signals,
              std::function<void(const std::string&)> say, MemoryRelief relief = {});

  /// Whether the run was asked to end. Thread-safe.
  bool over() const noexcept { return over_; }
  monitor::MemoryWatch& watch() noexcept { return watch_; }

 private:
  // Of one that is far it is not asked at each look.
  struct Watched {
    monitor::MemoryLimit limit{};
    monitor::MemoryUse use{};  // the newest
    monitor::MemoryLadder::Clock::time_point seen{};
  };

  static std::vector<Watched> watched_limits(const monitor::MemoryLimit& own);
  void look(const monitor::ProcessMemory& memory);
  monitor::MemoryUse tightest_use(const monitor::ProcessMemory& memory,
                                  monitor::MemoryLadder::Clock::time_point now);
  void take(monitor::MemoryStep step, const monitor::MemoryUse& use);
  void end_run(const monitor::MemoryUse& use);
  void tell(const monitor::MemoryUse& use, const std::string& done) const;
  std::string give_up(monitor::MemoryStep step, const monitor::MemoryUse& use);
  std::string evict(const monitor::MemoryUse& use);

  std::vector<Watched> limits_;  // the first is the run's own
  StopSignals& signals_;
  std::function<void(const std::string&)> say_;
  MemoryRelief relief_;
  monitor::MemoryLadder ladder_;
  std::atomic<bool> over_{false};
  monitor::MemoryWatch watch_;  // the last: its thread calls look(), which needs all else
};

}  // namespace headrace::inline v1::app
