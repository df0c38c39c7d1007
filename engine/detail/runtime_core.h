#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <headrace/engine/detail/crew.h>
#include <headrace/engine/detail/watchdog.h>
#include <headrace/engine/runtime.h>

namespace headrace::inline v1::detail {

/// Threads that may wait for a disk or network. Jobs run in the order they came.
class IoPool {
 public:
  using Job = std::function<void(int slot)>;

  /// `owner`: what owner_of_this_thread is on the pool's threads.
  IoPool(int threads, const void* owner);
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// Makes room for so many more jobs at once: submitting these takes no memory.
  void expect(std::size_t jobs);
  void forget(std::size_t jobs) noexcept;
  void submit(Job job);

 private:
  void live(int slot);
  void stop();
  void make_room(std::size_t places);

  const void* owner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;  ///< a ring
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
  std::size_t expected_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// What the handles of a runtime share. Threads start when the first loader asks for them.
class RuntimeCore {
 public:
  explicit RuntimeCore(const RuntimeOptions& options) : options_(options) {}
  ~RuntimeCore();

  static std::shared_ptr<RuntimeCore> share(const Runtime& runtime) { return runtime.core_; }

  const RuntimeOptions& options() const noexcept { return options_; }
  Crew& crew();
  IoPool& io();
  /// Whether the threads are those of a process that this one was forked from.
  bool forked() const noexcept;
  /// Throws PipelineError, in the name of `who`, where its threads are not in this process, and on
  /// one of its threads, which would wait for itself.
  void require_usable(const std::string& who) const;
  WatchList& watch_list() noexcept { return watch_list_; }

  /// Takes a share of the byte budget; throws ResourceError with the sum when it is not there.
  void acquire(std::size_t bytes, const std::string& who);
  void release(std::size_t bytes) noexcept;
  std::size_t in_use() const;

 private:
  RuntimeOptions options_;
  std::atomic<pid_t> home_{0};  ///< process of the threads; 0 while there are none
  mutable std::mutex mutex_;
  std::size_t in_use_ = 0;
  WatchList watch_list_;
  std::unique_ptr<Crew> crew_;
  std::unique_ptr<IoPool> io_;
};

}  // namespace headrace::inline v1::detail
