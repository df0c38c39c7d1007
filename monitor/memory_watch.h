#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/process_memory.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace headrace::inline v1::monitor {

struct MemoryWatchOptions {
  std::uint64_t limit = 0;  ///< bytes; held() above it is over the limit. 0 watches only the peak
  std::chrono::milliseconds period{1000};  ///< between two looks
  double leave_below = 0.95;  ///< share of the limit below which it counts as left again
  /// See ProcessMemory::driver_locked; may be empty.
  std::function<std::uint64_t()> driver_locked{};
  std::filesystem::path root = "/";  ///< where proc is found
  /// At each look, by the thread that looks; may be empty. What it throws is dropped: the next look
  /// comes.
  std::function<void(const ProcessMemory&)> on_look{};
};

/// The process went over its limit, or came back.
struct HEADRACE_API MemoryEvent {
  bool over = false;
  std::uint64_t limit = 0;
  ProcessMemory memory{};

  /// "process memory 10.2 GiB is over its limit of 10.0 GiB (anonymous 9.1 GiB, shared 1.1 GiB,
  /// ...)"
  std::string sentence() const;
};

/// Looks at the process's memory from a thread of its own, some microseconds each period. The
/// callback is called from that thread, once on going over the limit and once on coming back; it
/// must not throw.
class HEADRACE_API MemoryWatch {
 public:
  using Callback = std::function<void(const MemoryEvent&)>;

  MemoryWatch(MemoryWatchOptions options, Callback callback);
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// The last look. Thread-safe.
  ProcessMemory last() const;
  /// The largest held() seen at any look. Thread-safe.
  std::uint64_t peak_held() const;
  /// True while the process is over its limit. Thread-safe.
  bool over() const;
  /// Looks now, on the calling thread (as the end of a stage does, so that short peaks are seen).
  /// Thread-safe.
  void look();

 private:
  void run(const std::stop_token& stop);

  MemoryWatchOptions options_;
  Callback callback_;
  mutable std::mutex mutex_;
  std::mutex looking_;  // one look, with its callback, at a time
  std::condition_variable_any wake_;
  ProcessMemory last_{};
  std::uint64_t peak_ = 0;
  bool over_ = false;
  std::jthread thread_;
};

}  // namespace headrace::inline v1::monitor
