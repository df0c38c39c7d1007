#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1 {

namespace detail {
class RuntimeCore;
}

/// Bytes that the calling thread has taken from the heap less those that it gave back, by the
/// count of the program's own allocator.
using HeapMeter = std::int64_t (*)() noexcept;

/// Sizes of a runtime; zeros mean: what this machine offers.
struct RuntimeOptions {
  int threads = 0;     ///< workers; 0: usable cores (affinity and cgroup quota)
  int io_threads = 0;  ///< threads that may wait for a disk or network; 0: 4
  /// Bytes of slabs and samples of all its loaders together; 0: no limit of its own.
  std::size_t memory = 0;
  /// Asked before and behind each call of a source or step, to see who keeps what it takes; null:
  /// that is not counted.
  HeapMeter heap_meter = nullptr;
};

/// What a loader holds at a moment.
struct LoaderHolding {
  /// A step of it, or "read" and "collate".
  struct Stage {
    std::string name{};
    std::int64_t kept = 0;  ///< bytes that its calls took from the heap and did not give back
  };
  std::string loader{};
  std::size_t bytes = 0;        ///< its slabs and pooled samples
  std::vector<Stage> stages{};  ///< without RuntimeOptions::heap_meter all have kept nothing
};

/// Workers, I/O threads and one byte budget, shared by all loaders that are given it (train and
/// validation; ten pairs in turn). A handle: copies share. Threads start with a loader's first
/// epoch and are joined with the last handle. Nothing process-wide is touched: the workers are
/// threads of our own in an arena whose slots are reserved for them.
class HEADRACE_API Runtime {
 public:
  using Options = RuntimeOptions;

  /// Throws ConfigError for negative sizes. Threads that cannot be made are a ResourceError of the
  /// first epoch.
  explicit Runtime(Options options = {});
  /// The runtime of loaders that name none; made on first use.
  static Runtime process_default();

  /// The sizes that the options came to; any thread.
  int threads() const noexcept;
  int io_threads() const noexcept;
  /// Bytes, 0: no limit of its own; and what loaders hold of it at this moment (in a process that
  /// was forked since their first epoch nothing; there what follows throws PipelineError).
  std::size_t memory_limit() const noexcept;
  std::size_t memory_in_use() const noexcept;

  /// Share of its slabs and of its sample bytes that each loader may use from now on, in [0, 1];
  /// at 0 one batch at a time. What is not used goes back to the system, but for page-locked slabs.
  /// Batches are the same ones, in their order. Any thread. Throws ConfigError for other shares.
  void set_share(double share);
  double share() const noexcept;
  /// While it is paused no loader begins a batch: those in the making are finished and delivered,
  /// then next() waits. Any thread.
  void set_paused(bool paused);
  bool paused() const noexcept;
  /// Of each loader that has begun an epoch. Any thread.
  std::vector<LoaderHolding> holdings() const;

 private:
  friend class detail::RuntimeCore;
  explicit Runtime(std::shared_ptr<detail::RuntimeCore> core) : core_(std::move(core)) {}
  std::shared_ptr<detail::RuntimeCore> core_;
};

/// Cores this process may use: the affinity mask, cut by the cgroup's CPU quota (v1 and v2), at
/// least 1.
HEADRACE_API int usable_cores();

}  // namespace headrace::inline v1
