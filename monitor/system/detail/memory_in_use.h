#pragma once

#include <headrace/monitor/system/system_sample.h>

#include <algorithm>
#include <cstdint>

namespace headrace::inline v1::monitor::detail {

/// Bytes in use by anybody, of the machine or of the cgroup whose limit is less; total 0: not
/// known.
struct MemoryInUse {
  std::uint64_t used = 0;
  std::uint64_t total = 0;
};

inline MemoryInUse memory_in_use(const HostMemory& host) {
  if (host.cgroup_limit && (host.total == 0 || *host.cgroup_limit < host.total))
    return {.used = host.cgroup_usage, .total = *host.cgroup_limit};
  return {.used = host.total - std::min(host.total, host.available), .total = host.total};
}

/// Of all GPUs together that tell it.
inline MemoryInUse gpu_memory_in_use(const SystemSample& sample) {
  MemoryInUse memory;
  for (const GpuSample& gpu : sample.gpus) {
    if (!gpu.memory_used || !gpu.memory_total) continue;
    memory.used += *gpu.memory_used;
    memory.total += *gpu.memory_total;
  }
  return memory;
}

}  // namespace headrace::inline v1::monitor::detail
