#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/system_sample.h>
#include <headrace/monitor/system/system_sampler.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace headrace::inline v1::monitor {

namespace detail {
class WatchPace;
}

struct SystemWatchOptions {
  SystemSamplerOptions sampler{};
  std::chrono::milliseconds period{1000};  ///< between two samples
  /// Of a core, that the watch's thread may use: all processes are looked at (`busiest`) as often
  /// as this allows, and where samples alone take three quarters of it, they come less often.
  double most_share = 0.002;
  /// At each sample, by the watch's thread; may be empty. What it throws is dropped.
  std::function<void(const SystemSample&)> on_sample{};
};

/// Samples the machine and a tree of processes from a thread of its own. The first sample comes
/// after a period, and a last one when the watch ends. In a forked process last() throws
/// PipelineError.
class HEADRACE_API SystemWatch {
 public:
  /// Throws ConfigError for a period or a share that is not above 0, and where the process to watch
  /// does not run.
  explicit SystemWatch(SystemWatchOptions options = {});
  SystemWatch(const SystemWatch&) = delete;
  SystemWatch& operator=(const SystemWatch&) = delete;
  /// Takes the last sample, at least 50 ms behind the one before, with the busiest since they were
  /// last looked at.
  ~SystemWatch();

  /// Nothing before the first sample; with `busiest` as last known. Thread-safe.
  std::optional<SystemSample> last() const;
  /// CPU time that the watch's thread has used up to its last sample. Thread-safe.
  double cpu_seconds() const { return cpu_s_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Thread;

  void run(const std::stop_token& stop);
  void begin();
  double look(bool last);
  void publish(const SystemSample& sample);

  SystemWatchOptions options_;
  std::atomic<double> cpu_s_{0.0};
  mutable std::mutex mutex_;
  std::optional<SystemSample> last_{};
  std::unique_ptr<detail::WatchPace> pace_;
  Clock::time_point sampled_at_{};
  std::unique_ptr<Thread> thread_;
};

}  // namespace headrace::inline v1::monitor
