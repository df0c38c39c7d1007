#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/memory/process_memory.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace headrace::inline v1::monitor {

struct MemoryWatchOptions {
  std::chrono::milliseconds period{1000};  ///< between two looks
  /// See ProcessMemory::driver_locked; may be empty.
  std::function<std::uint64_t()> driver_locked{};
  std::filesystem::path root = "/";  ///< where proc is found
  /// At each look, by the thread that looks; may be empty. What it throws is dropped: the next look
  /// comes.
  std::function<void(const ProcessMemory&)> on_look{};
};

/// Looks at the process's memory from a thread of its own, some microseconds each period. What is
/// to be done about it, MemoryLadder says. In a forked process its functions throw PipelineError.
class HEADRACE_API MemoryWatch {
 public:
  /// Throws ConfigError for a period that is not above 0.
  explicit MemoryWatch(MemoryWatchOptions options = {});
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;
  ~MemoryWatch();

  /// The last look. Thread-safe.
  ProcessMemory last() const;
  /// The largest held() seen at any look. Thread-safe.
  std::uint64_t peak_held() const;
  /// Looks now, on the calling thread (as the end of a stage does, so that short peaks are seen).
  /// Thread-safe.
  void look();

 private:
  struct Thread;

  void run(const std::stop_token& stop);

  MemoryWatchOptions options_;
  mutable std::mutex mutex_;
  std::mutex looking_;  // one look, with what is called at it, at a time
  ProcessMemory last_{};
  std::uint64_t peak_ = 0;
  std::unique_ptr<Thread> thread_;
};

}  // namespace headrace::inline v1::monitor
