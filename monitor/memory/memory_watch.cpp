#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_watch.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <pthread.h>

namespace headrace::inline v1::monitor {

MemoryWatch::MemoryWatch(MemoryWatchOptions options) : options_(std::move(options)) {
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
  {
    const std::lock_guard lock(mutex_);
    last_ = memory;
    peak_ = std::max(peak_, memory.held());
  }
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

}  // namespace headrace::inline v1::monitor
