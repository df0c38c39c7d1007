#pragma once

#include <headrace/apps/run/metrics_writer.h>
#include <headrace/monitor/cpu_spikes.h>
#include <headrace/monitor/system_facts.h>
#include <headrace/monitor/system_json.h>
#include <headrace/monitor/system_watch.h>
#include <headrace/monitor/usage_statistics.h>

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

/// Cells for the row of an epoch, "machine_cpu_share" and so on; without a sample none.
MetricRow system_row(const SystemWindow& window);

/// What they came to over the whole run, for its goals and its end.
struct SystemTotals {
  std::optional<double> gpu_busy{};  ///< mean share while it trained; nothing without a GPU
  std::size_t cpu_spikes = 0;        ///< of 90 % of the machine's CPUs
};

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

  /// What samples from now on belong to; `training` begins a window.
  void enter(const monitor::RunMoment& moment);
  /// Of the samples since the last moment of phase "train" began until it ended, or until now.
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
  monitor::RunMoment moment_{.phase = "other"};
  monitor::SystemFacts facts_;
  monitor::UsageMeter usage_;
  monitor::SystemSample last_{};  // of the window
  monitor::CpuSpikes spikes_;
  double busy_sum_ = 0.0;
  std::size_t busy_samples_ = 0;
  // The last: its thread calls take(), which needs all else. None where it could not begin.
  std::optional<monitor::SystemWatch> watch_;
};

}  // namespace headrace::inline v1::app
