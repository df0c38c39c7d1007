#include <headrace/engine/base/error.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory_watch.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <pthread.h>

namespace headrace::inline v1::monitor {

std::string MemoryEvent::sentence() const {
  return fmt::format(
      "process memory {} is {} its limit of {} (anonymous {}, shared {}, page-locked by drivers "
      "{}; "
      "file-backed {} apart)",
      format_bytes(memory.held()), over ? "over" : "back under", format_bytes(limit),
      format_bytes(memory.anonymous), format_bytes(memory.shared),
      format_bytes(memory.driver_locked), format_bytes(memory.file_backed));
}

MemoryWatch::MemoryWatch(MemoryWatchOptions options, Callback callback)
    : options_(std::move(options)), callback_(std::move(callback)) {
  if (options_.period.count() <= 0) {
    throw ConfigError(fmt::format("[memory watch] period must be above 0 ms, got {} ms",
                                  options_.period.count()));
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void MemoryWatch::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "hr-memory");
  std::mutex sleeping;
  std::unique_lock lock(sleeping);
  while (!stop.stop_requested()) {
    look();
    wake_.wait_for(lock, stop, options_.period, [] { return false; });
  }
}

void MemoryWatch::look() {
  const std::lock_guard one_look(looking_);
  ProcessMemory memory = read_process_memory(options_.root);
  if (options_.driver_locked) memory.driver_locked = options_.driver_locked();
  bool changed = false;
  bool now_over = false;
  {
    const std::lock_guard lock(mutex_);
    last_ = memory;
    peak_ = std::max(peak_, memory.held());
    const double leave_at = options_.leave_below * static_cast<double>(options_.limit);
    if (!over_ && options_.limit > 0) {
      now_over = memory.held() > options_.limit;
    } else if (over_) {
      now_over = static_cast<double>(memory.held()) >= leave_at;
    }
    changed = now_over != over_;
    over_ = now_over;
  }
  if (changed && callback_)
    callback_({.over = now_over, .limit = options_.limit, .memory = memory});
  if (!options_.on_look) return;
  try {
    options_.on_look(memory);
  } catch (...) {
    return;
  }
}

ProcessMemory MemoryWatch::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t MemoryWatch::peak_held() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

bool MemoryWatch::over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

}  // namespace headrace::inline v1::monitor
