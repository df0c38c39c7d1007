#pragma once

#include <headrace/apps/run/metrics_writer.h>
#include <headrace/monitor/system/cpu_spikes.h>
#include <headrace/monitor/system/system_facts.h>
#include <headrace/monitor/system/system_json.h>
#include <headrace/monitor/system/system_watch.h>
#include <headrace/monitor/system/usage_statistics.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// What samples of the machine came to in the training part of an epoch.
struct SystemWindow {
  std::optional<monitor::MachineFacts> machine{};  ///< nothing without a sample in it
  std::optional<monitor::GpuFacts> gpu{};
  monitor::UsageStatistics usage{};
  std::optional<monitor::SystemSample> mean{};  ///< the last one, with the window's mean shares
};

/// What they came to over the whole run, for its goals and its end.
struct SystemTotals {
  /// Mean share of the run's GPUs while it trained, as SystemFacts finds them; nothing where no
  /// sample told it.
  std::optional<double> gpu_busy{};
  /// Times over 90 % of the machine's CPUs; nothing before the second sample, as one begins with
  /// two.
  std::optional<std::int64_t> cpu_spikes{};
};

/// Adds samples up over a run's training parts and over all of it. A sample of which a training
/// part fills less than two thirds is none of it. Not thread-safe.
class SystemTally {
 public:
  using Clock = std::chrono::steady_clock;

  /// What samples from `at` on belong to; phase "train" begins a window.
  void enter(const monitor::RunMoment& moment, Clock::time_point at);
  /// One whose interval ends at `at`.
  void add(const monitor::SystemSample& sample, Clock::time_point at);

  const monitor::RunMoment& moment() const { return moment_; }
  /// Of the samples since the last moment of phase "train" began until it ended, or until now.
  SystemWindow window() const;
  SystemTotals totals() const;

 private:
  monitor::RunMoment moment_{.phase = "other"};
  Clock::time_point entered_{};
  monitor::SystemFacts facts_;    // of the window
  monitor::UsageMeter usage_;     // likewise
  monitor::SystemSample last_{};  // likewise
  monitor::SystemFacts trained_;  // of all windows
  monitor::CpuSpikes spikes_;
  std::size_t samples_ = 0;
};

/// Cells for the row of an epoch, "machine_cpu_share" and so on; without a sample none.
MetricRow system_row(const SystemWindow& window);

struct SystemLogOptions {
  /// LibTorch's counters of the GPU's memory; may be empty. Called by the watch's thread.
  std::function<std::optional<monitor::AllocatorCounters>()> allocator{};
  std::chrono::milliseconds period{1000};
};

/// Samples the machine while a run trains, from a thread of its own: a row of system.jsonl each,
/// and facts for windows. A row that cannot be written ends the file with a warning, not the run;
/// where it cannot watch at all, a warning says so. Thread-safe.
class SystemLog {
 public:
  /// `warn` is called once, by the watch's thread or here.
  SystemLog(std::filesystem::path file, SystemLogOptions options,
            std::function<void(const std::string&)> warn);

  /// As SystemTally, from now on.
  void enter(const monitor::RunMoment& moment);
  SystemWindow window() const;
  SystemTotals totals() const;
  /// The last sample for a person, no wider than that; before the first one empty.
  std::string status(std::size_t columns) const;

 private:
  void take(const monitor::SystemSample& sample);
  void write(const monitor::SystemSample& sample);

  std::function<void(const std::string&)> warn_;
  JsonLinesWriter rows_;  // of the watch's thread alone
  bool broken_ = false;   // likewise
  mutable std::mutex mutex_;
  SystemTally tally_;
  // The last: its thread calls take(), which needs all else. None where it could not begin.
  std::optional<monitor::SystemWatch> watch_;
};

}  // namespace headrace::inline v1::app
