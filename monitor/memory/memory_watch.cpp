#include <headrace/engine/base/bounded_wait.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/monitor/memory/memory_watch.h>

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <pthread.h>

namespace headrace::inline v1::monitor {

/// What a forked process leaves as it is.
struct MemoryWatch::Thread {
  headrace::detail::HomeProcess home{};
  std::condition_variable_any wake{};
  std::jthread thread{};
};

MemoryWatch::MemoryWatch(MemoryWatchOptions options)
    : options_(std::move(options)), thread_(std::make_unique<Thread>()) {
  if (options_.period.count() <= 0) {
    throw ConfigError(fmt::format("[memory watch] period must be above 0 ms, got {} ms",
                                  options_.period.count()));
  }
  thread_->thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

MemoryWatch::~MemoryWatch() {
  if (thread_->home.left()) static_cast<void>(thread_.release());
}

void MemoryWatch::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "hr-memory");
  std::mutex sleeping;
  std::unique_lock lock(sleeping);
  while (!stop.stop_requested()) {
    look();
    thread_->wake.wait_for(lock, stop, bounded_wait(options_.period), [] { return false; });
  }
}

void MemoryWatch::look() {
  thread_->home.require("[memory watch] it");
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
  thread_->home.require("[memory watch] it");
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t MemoryWatch::peak_held() const {
  thread_->home.require("[memory watch] it");
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace headrace::inline v1::monitor
