#pragma once

#include <headrace/engine/runtime/internal/watch_list.h>
#include <headrace/engine/runtime/watchdog.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace headrace::inline v1::detail {

/// Looks at one loader from a thread of its own.
class Watchdog {
 public:
  /// `waits` says whether somebody waits for the loader; any thread may call it at any time.
  Watchdog(WatchedLoader loader, WatchdogOptions options, const WatchList& list,
           std::function<bool()> waits);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void live();
  void look(std::chrono::nanoseconds passed);
  void report();

  WatchedLoader loader_;
  WatchdogOptions options_;
  const WatchList& list_;
  std::function<bool()> waits_;
  std::chrono::nanoseconds period_;
  std::int64_t moves_ = 0;
  std::chrono::nanoseconds still_{0};
  bool told_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headrace::inline v1::detail
