#pragma once

#include <headrace/apps/plot/chart.h>
#include <headrace/apps/plot/thin_curve.h>
#include <headrace/apps/report/sample_clock.h>
#include <headrace/apps/report/text_lines.h>
#include <headrace/monitor/system/cpu_spikes.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a training run does, in samples of the machine: the words of `phase` in system.jsonl.
inline constexpr std::array<const char*, 4> sample_phases{"train", "evaluate", "checkpoint",
                                                          "other"};

/// A GPU over the run.
struct GpuHistory {
  std::string name{};
  double memory_total = 0.0;                     ///< bytes; 0: not told
  double power_limit_w = 0.0;                    ///< 0: not told
  std::map<std::string, double> throttled_s{};   ///< seconds by reason; at most 20
  std::map<std::string, double> others_bytes{};  ///< most that processes of others held, by name
  std::vector<ChartSpan> throttled{};            ///< when its clocks were held down
};

/// system.jsonl: the machine over a run. Times are those of a SampleClock: seconds since 1970,
/// without pauses.
struct MachineHistory {
  static constexpr std::size_t columns = 420;  ///< of a chart

  LineCount count{};
  double first = 0.0;
  double last = 0.0;
  double cores = 0.0;         ///< that the run may use; 0: not told
  double memory_total = 0.0;  ///< bytes; 0: not told
  double cgroup_limit = 0.0;  ///< bytes; 0: none
  std::string no_gpu{};
  /// By the names of system.jsonl: "machine_share", "gpu0.busy_share", "allocator.reserved_bytes";
  /// beside them "memory_taken_bytes" of the machine, sums over disks and networks
  /// ("disks.read_bytes_per_s") and the busiest disk ("disks.busy_share"): 0 in a sample that names
  /// none, as far as any names one.
  std::map<std::string, ThinCurve> curves{};
  std::map<int, GpuHistory> gpus{};  ///< at most 16
  monitor::CpuSpikes spikes{};       ///< on this clock, and in UTC
  double seconds = 0.0;              ///< in which the CPUs of the machine were looked at
  /// Of them, those in which the CPUs were at each level of spikes or more.
  std::array<double, monitor::CpuSpikes::levels.size()> busy_s{};
  /// What the run did, neighbours that did the same in one; `colour` is the place in sample_phases.
  std::vector<ChartSpan> phases{};
  std::vector<SamplePause> pauses{};

  /// Null where nothing was measured.
  const ThinCurve* curve(const std::string& name) const;
};

/// Reads system.jsonl line by line; its size does not matter.
MachineHistory read_system(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
