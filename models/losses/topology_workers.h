#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <vector>

namespace headrace::inline v1::models {

struct TopologyWorkersOptions {
  int threads = 2;          ///< at least 1
  std::size_t places = 64;  ///< jobs that may wait for a thread, at least 1
};

/// Waits of the thread that hands out the jobs.
struct WorkerWaits {
  std::int64_t count = 0;
  double seconds = 0.0;  ///< in all
};

/// Threads that work beside training steps, with a lower priority. Jobs begin in the order they
/// came. They must do without LibTorch's operations, which may start threads of their own. One
/// thread calls it, of the process that made it: in a fork calls throw `PipelineError`.
class HEADRACE_API TopologyWorkers {
 public:
  /// Throws `ConfigError` for options that cannot be, `ResourceError` where the system has no
  /// thread.
  explicit TopologyWorkers(const TopologyWorkersOptions& options = {});
  /// Drops the jobs that no thread has begun, and waits for the others.
  ~TopologyWorkers();
  TopologyWorkers(const TopologyWorkers&) = delete;
  TopologyWorkers& operator=(const TopologyWorkers&) = delete;

  /// Waits only where all places are taken.
  std::future<void> submit(std::function<void()> job);

  /// Waits for jobs of this pool, and throws what the first of them threw that did; it has then
  /// waited for all.
  void collect(std::vector<std::future<void>>& jobs);

  /// What `submit` and `collect` waited so far; what was done before it was asked for is no wait.
  const WorkerWaits& waits() const { return waits_; }

 private:
  struct Crew;

  std::size_t places_;
  WorkerWaits waits_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace headrace::inline v1::models
