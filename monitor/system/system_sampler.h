#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace headrace::inline v1::monitor {

struct SystemSamplerOptions {
  static constexpr int nobody = -1;

  /// Whose tree of processes is watched, any user's; 0: this process, `nobody`: the machine alone.
  int pid = 0;
  std::filesystem::path root = "/";  ///< where proc and sys are found
  /// Driver's library of GPUs, opened when the first sample is taken; empty: GPUs are not asked.
  std::string nvml_library = "libnvidia-ml.so.1";
  /// Samples from one figure of PCIe to the next where asking takes 40 ms (before Hopper); 0:
  /// never.
  int pcie_every = 10;
  /// See ProcessMemory::driver_locked; may be empty.
  std::function<std::uint64_t()> driver_locked{};
  /// Of the process itself; may be empty. What it throws is dropped.
  std::function<std::optional<AllocatorCounters>()> allocator{};
};

/// Reads what a machine and a tree of processes on it do: proc, sys, the driver of its GPUs.
/// Touches no process. Not thread-safe.
class HEADRACE_API SystemSampler {
 public:
  /// Throws ConfigError where no such process runs.
  explicit SystemSampler(SystemSamplerOptions options = {});
  ~SystemSampler();
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;

  /// Since the last call, or since construction; all but `busiest`. Some 30 small files and 3 more
  /// a process of the tree, about .5 ms.
  SystemSample sample();

  /// Adds those that used most CPU since the last call; at the first call nobody. About 20 us a
  /// process of the machine.
  void add_busiest(SystemSample& sample);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headrace::inline v1::monitor
