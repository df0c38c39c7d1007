#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/cpu_usage.h>
#include <headrace/monitor/system/system_sample.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::inline v1::monitor {

/// A time in which the machine's CPUs were busy.
struct CpuSpike {
  double start_s = 0.0;      ///< on the samples' clock (`at_s`)
  std::int64_t unix_ms = 0;  ///< likewise, UTC
  double length_s = 0.0;
  double level = 0.0;  ///< .7, .8 or .9: the highest that two samples in a row reached
  double mean = 0.0;   ///< busy share of all CPUs
  double peak = 0.0;
  /// Those that used most CPU in it, each with the most that a look found; busiest first.
  std::vector<ProcessUsage> busiest{};
};

namespace detail {

/// One that may still go on.
struct OpenSpike {
  CpuSpike spike{};
  double sum = 0.0;  // of share times length
  double last_share = 0.0;
  std::size_t samples = 0;
  bool begun = false;                  // two samples were there
  std::optional<SystemSample> calm{};  // the last one, if it was below the end
};

}  // namespace detail

/// Finds them in samples. One begins with the first of two samples in a row at 70 % or more, and
/// ends with the first of two below 65 %. Not thread-safe.
class HEADRACE_API CpuSpikes {
 public:
  static constexpr std::array<double, 3> levels{0.70, 0.80, 0.90};
  static constexpr std::size_t most_kept = 100;

  void add(const SystemSample& sample);

  /// All so far, the one that lasts included, in the order of time; of more than most_kept those
  /// with the most CPU time.
  std::vector<CpuSpike> spikes() const;
  /// Of all so far, how many reached that level at least.
  std::size_t count(double level) const;
  /// Whether one lasts.
  bool lasts() const { return current_.has_value() && current_->begun; }

 private:
  void begin(const SystemSample& sample);
  void extend(const SystemSample& sample);
  void end();

  std::optional<detail::OpenSpike> current_;
  std::vector<CpuSpike> ended_;
  std::array<std::size_t, levels.size()> counts_{};
};

}  // namespace headrace::inline v1::monitor
