#pragma once

#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/base/internal/own_heap.h>
#include <headrace/engine/runtime/internal/crew.h>
#include <headrace/engine/runtime/internal/io_pool.h>
#include <headrace/engine/runtime/internal/memory_users.h>
#include <headrace/engine/runtime/internal/traced_loaders.h>
#include <headrace/engine/runtime/internal/watchdog.h>
#include <headrace/engine/runtime/runtime.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

namespace headrace::inline v1::detail {

/// What the handles of a runtime share. Threads start when the first epoch asks for them.
class RuntimeCore {
 public:
  explicit RuntimeCore(const RuntimeOptions& options) : options_(options) {
    set_own_heap_meter(options.heap_meter);
  }
  ~RuntimeCore();

  static std::shared_ptr<RuntimeCore> share(const Runtime& runtime) { return runtime.core_; }

  const RuntimeOptions& options() const noexcept { return options_; }
  Crew& crew();
  IoPool& io();
  /// Whether the threads are those of a process that this one was forked from.
  bool forked() const noexcept { return home_.load(std::memory_order_relaxed).left(); }
  /// Throws PipelineError, in the name of `who`, where its threads are not in this process.
  void require_home(const std::string& who) const;
  /// The same, and on one of its threads, which would wait for itself. From here on they are this
  /// process's.
  void require_usable(const std::string& who);
  WatchList& watch_list() noexcept { return watch_list_; }

  /// Takes a share of the byte budget; throws ResourceError with the sum when it is not there.
  void acquire(std::size_t bytes, const std::string& who);
  void release(std::size_t bytes) noexcept;
  std::size_t in_use() const;
  /// The loaders at work, and how much of their memory they may use.
  MemoryUsers& memory_users() noexcept { return memory_users_; }
  const MemoryUsers& memory_users() const noexcept { return memory_users_; }
  TracedLoaders& traced() noexcept { return traced_; }

 private:
  RuntimeOptions options_;
  std::atomic<HomeProcess> home_{HomeProcess::none()};  ///< of the threads
  mutable std::mutex mutex_;
  std::size_t in_use_ = 0;
  WatchList watch_list_;
  MemoryUsers memory_users_;
  TracedLoaders traced_;
  std::unique_ptr<Crew> crew_;
  std::unique_ptr<IoPool> io_;
};

}  // namespace headrace::inline v1::detail
