#pragma once

#include <headrace/apps/plot/thin_curve.h>
#include <headrace/monitor/system/busiest_tally.h>
#include <headrace/monitor/system/cpu_spikes.h>
#include <headrace/monitor/system/system_facts.h>
#include <headrace/monitor/system/usage_statistics.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// All that the samples of a watch came to, in memory that does not grow with its length. Not
/// thread-safe.
class WatchFindings {
 public:
  void add(const monitor::SystemSample& sample);

  std::size_t samples() const { return samples_; }
  double seconds() const { return last_.at_s; }
  const monitor::SystemSample& last() const { return last_; }
  /// CPU time of the watched tree while it was watched, seconds.
  double tree_cpu_s() const { return last_cpu_s_ - first_cpu_s_; }
  std::uint64_t tree_peak() const { return tree_peak_; }  ///< resident, bytes
  monitor::UsageStatistics statistics() const { return usage_.statistics(); }
  const monitor::CpuSpikes& spikes() const { return spikes_; }
  const monitor::BusiestTally& processes() const { return processes_; }
  std::optional<monitor::MachineFacts> machine() const { return facts_.machine(); }
  std::optional<monitor::GpuFacts> gpu() const { return facts_.gpu(); }
  /// A share over the seconds that were watched: "machine", "tree" (of the cores that it may use),
  /// "memory", "gpu_busy" or "gpu_memory". Null where no sample told it.
  const ThinCurve* curve(const std::string& name) const;

 private:
  void put(const monitor::SystemSample& sample, const char* name, std::optional<double> share);

  std::size_t samples_ = 0;
  monitor::SystemSample last_{};
  double first_cpu_s_ = 0.0;
  double last_cpu_s_ = 0.0;
  std::uint64_t tree_peak_ = 0;
  monitor::UsageMeter usage_;
  monitor::CpuSpikes spikes_;
  monitor::BusiestTally processes_;
  monitor::SystemFacts facts_;
  std::map<std::string, ThinCurve> curves_;
};

}  // namespace headrace::inline v1::app
