#pragma once

#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/train/system_tally.h>
#include <headrace/monitor/system_json.h>
#include <headrace/monitor/system_watch.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

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
