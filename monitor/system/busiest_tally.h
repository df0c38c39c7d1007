#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/cpu_usage.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace headrace::inline v1::monitor {

/// Which processes used most CPU over a window, of the samples that list the busiest: a look counts
/// by the time since the one before. Remembers some hundred processes, however long the window. Not
/// thread-safe.
class HEADRACE_API BusiestTally {
 public:
  void add(const SystemSample& sample);
  /// Means over the window, busiest first; a process that a look does not list used nothing in its
  /// time.
  std::vector<ProcessUsage> busiest(std::size_t count = 5) const { return top(count, true); }
  /// Likewise, without those of the watched tree.
  std::vector<ProcessUsage> others(std::size_t count = 5) const { return top(count, false); }
  /// Begins another window.
  void clear();

 private:
  std::vector<ProcessUsage> top(std::size_t count, bool with_ours) const;

  struct Process {
    ProcessUsage last{};
    double cpu_s = 0.0;
  };
  std::map<int, Process> processes_;
  double seconds_ = 0.0;               // that the looks cover
  std::optional<double> last_look_s_;  // on the samples' clock; kept from window to window
};

}  // namespace headrace::inline v1::monitor
