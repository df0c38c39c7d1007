#pragma once

#include <headrace/monitor/cpu_spikes.h>
#include <headrace/monitor/system_facts.h>
#include <headrace/monitor/system_json.h>
#include <headrace/monitor/usage_statistics.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

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

}  // namespace headrace::inline v1::app
