#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/monitor/system/cpu_usage.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// A process that holds memory of a GPU.
struct GpuProcess {
  int pid = 0;
  std::string name{};
  std::uint64_t memory = 0;  ///< bytes; 0 where the driver does not tell
  bool ours = false;         ///< of the tree that is watched
};

/// One GPU at a moment, as its driver says (NVML). What is not told is absent, never 0.
struct GpuSample {
  unsigned index = 0;
  std::string name{};
  std::optional<double> busy_share{};       ///< of the time, with at least one kernel
  std::optional<double> sm_active_share{};  ///< of the multiprocessors, over the interval
  std::optional<std::uint64_t> memory_used{};
  std::optional<std::uint64_t> memory_total{};
  std::optional<double> temperature_c{};
  std::optional<double> power_w{};
  std::optional<double> power_limit_w{};
  std::optional<double> sm_clock_mhz{};
  std::optional<double> most_sm_clock_mhz{};
  std::optional<double> memory_clock_mhz{};
  std::optional<double> pcie_received_per_s{};  ///< bytes, by the device
  std::optional<double> pcie_sent_per_s{};      ///< bytes
  std::vector<std::string> throttled{};         ///< reasons in force that slow the clocks down
  std::vector<GpuProcess> processes{};
};

/// Time in which tasks of the machine waited for a resource, as shares of the interval (PSI).
struct Pressure {
  double cpu_some = 0.0;
  double memory_some = 0.0;
  double memory_full = 0.0;
  double io_some = 0.0;
  double io_full = 0.0;
};

/// A block device over the interval.
struct DiskUse {
  std::string name{};
  double read_per_s = 0.0;     ///< bytes
  double written_per_s = 0.0;  ///< bytes
  double requests_per_s = 0.0;
  double busy_share = 0.0;  ///< of the time, with at least one request
};

/// A network interface over the interval, the loopback left out.
struct NetworkUse {
  std::string name{};
  double received_per_s = 0.0;  ///< bytes
  double sent_per_s = 0.0;      ///< bytes
};

/// The watched process and all its descendants.
struct TreeUse {
  bool lives = false;      ///< the process itself has not ended
  unsigned processes = 0;  ///< 0: none is watched, or all have ended
  unsigned threads = 0;
  double cpu_s = 0.0;            ///< CPU time since each of them began, ended children included
  double cores = 0.0;            ///< over the interval: CPU time / elapsed time
  std::uint64_t resident = 0;    ///< bytes; pages that several share count in each
  std::uint64_t open_files = 0;  ///< of the watched process; 0: not told
  bool reads_told = false;       ///< the two that follow; of a process of another user they are not
  double read_per_s = 0.0;       ///< bytes asked of read() and its like
  double read_from_disk_per_s = 0.0;  ///< bytes that storage had to give
  double major_faults_per_s = 0.0;
};

/// What LibTorch's allocator of a GPU counts, bytes.
struct AllocatorCounters {
  std::uint64_t allocated = 0;       ///< in tensors
  std::uint64_t reserved = 0;        ///< of the device
  std::uint64_t inactive_split = 0;  ///< of `reserved`: free parts of pieces in use
  std::int64_t retries = 0;          ///< times it gave back what it held, since the process began
};

/// A machine and the training on it over the interval that ends at `at_s`.
struct SystemSample {
  double at_s = 0.0;         ///< since the sampler began
  std::int64_t unix_ms = 0;  ///< UTC
  double interval_s = 0.0;
  unsigned cores = 1;          ///< that the watched process may use: affinity and quota
  unsigned outside = 0;        ///< CPUs of the machine that it may not use
  double machine_share = 0.0;  ///< busy share of all CPUs
  double iowait_share = 0.0;
  double steal_share = 0.0;
  TreeUse tree{};
  ProcessMemory memory{};  ///< of the watched process
  HostMemory host{};
  std::optional<Pressure> pressure{};  ///< nothing without PSI
  std::vector<DiskUse> disks{};
  std::vector<NetworkUse> networks{};
  std::vector<GpuSample> gpus{};
  std::string no_gpu{};  ///< why `gpus` is empty: "libnvidia-ml.so.1 is not there"
  /// Those that used most CPU since they were looked at before, busiest first; looked at less often
  /// than the rest, so some samples have none.
  std::vector<ProcessUsage> busiest{};
  std::optional<AllocatorCounters> allocator{};
};

/// Of the cores that the watched tree may use, what it used; all at most, though ticks of the clock
/// may say more over a short interval.
inline double share_of_cores(const SystemSample& sample) {
  return std::min(1.0, sample.tree.cores / std::max(1U, sample.cores));
}

}  // namespace headrace::inline v1::monitor
