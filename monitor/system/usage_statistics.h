#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/system_sample.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace headrace::inline v1::monitor {

/// How shares were spread over a window's samples; quantiles to a thousandth.
struct ShareSpread {
  std::size_t samples = 0;
  double mean = 0.0;
  double p50 = 0.0;
  double p90 = 0.0;
  double p99 = 0.0;
  double most = 0.0;
};

/// Counts of shares in a thousand bins, whatever their number. Not thread-safe.
class HEADRACE_API ShareMeter {
 public:
  /// Below 0 and above 1 counts as those.
  void add(double share);
  /// Nothing without a share.
  std::optional<ShareSpread> spread() const;

 private:
  double quantile(double share) const;

  std::array<std::uint32_t, 1001> counts_{};
  std::size_t samples_ = 0;
  double sum_ = 0.0;
  double most_ = 0.0;
};

/// A window of samples. What no sample told is absent.
struct UsageStatistics {
  double seconds = 0.0;                      ///< that the samples cover
  std::optional<ShareSpread> cpu{};          ///< of all CPUs, by anybody
  std::optional<ShareSpread> process{};      ///< of the cores that the watched tree may use, by it
  std::optional<ShareSpread> memory{};       ///< of the machine's or cgroup's, by anybody in it
  std::optional<ShareSpread> gpu_busy{};     ///< mean over GPUs
  std::optional<ShareSpread> gpu_memory{};   ///< of all GPUs together
  std::optional<ShareSpread> io_pressure{};  ///< of the time
  std::uint64_t memory_total = 0;            ///< bytes that `memory` is a share of
  std::uint64_t gpu_memory_total = 0;
};

/// Gathers them in the same memory, however long the window. Not thread-safe.
class HEADRACE_API UsageMeter {
 public:
  void add(const SystemSample& sample);
  UsageStatistics statistics() const;

 private:
  double seconds_ = 0.0;
  ShareMeter cpu_;
  ShareMeter process_;
  ShareMeter memory_;
  ShareMeter gpu_busy_;
  ShareMeter gpu_memory_;
  ShareMeter io_pressure_;
  std::uint64_t memory_total_ = 0;
  std::uint64_t gpu_memory_total_ = 0;
};

/// Share of the machine's memory that is in use, or of the cgroup's limit where that is less;
/// nothing where neither is known.
HEADRACE_API std::optional<double> memory_share(const SystemSample& sample);

/// Mean over the GPUs that tell it.
HEADRACE_API std::optional<double> gpu_busy_share(const SystemSample& sample);

/// Of the memory of all GPUs together.
HEADRACE_API std::optional<double> gpu_memory_share(const SystemSample& sample);

}  // namespace headrace::inline v1::monitor
