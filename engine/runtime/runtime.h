#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <memory>

namespace headrace::inline v1 {

namespace detail {
class RuntimeCore;
}

/// Sizes of a runtime; zeros mean: what this machine offers.
struct RuntimeOptions {
  int threads = 0;     ///< workers; 0: usable cores (affinity and cgroup quota)
  int io_threads = 0;  ///< threads that may wait for a disk or network; 0: 4
  /// Bytes of slabs and samples of all its loaders together; 0: no limit of its own.
  std::size_t memory = 0;
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
  /// Bytes, 0: no limit of its own; and what loaders hold of it at this moment.
  std::size_t memory_limit() const noexcept;
  std::size_t memory_in_use() const noexcept;

 private:
  friend class detail::RuntimeCore;
  explicit Runtime(std::shared_ptr<detail::RuntimeCore> core) : core_(std::move(core)) {}
  std::shared_ptr<detail::RuntimeCore> core_;
};

/// Cores this process may use: the affinity mask, cut by the cgroup's CPU quota (v1 and v2), at
/// least 1.
HEADRACE_API int usable_cores();

}  // namespace headrace::inline v1
