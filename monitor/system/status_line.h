#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstddef>
#include <string>

namespace headrace::inline v1::monitor {

/// "GPU: 85 % | VRAM: 12.3/24.0 GiB (51 %) | CPU: 45 % | RAM: 18.4/64.0 GiB": busy share of the GPU
/// and of all CPUs, memory used by anybody. Where there are several GPUs, their mean and the sum of
/// their memory: "GPU: 85 % x8". Without one "GPU: n/a | CPU: ..."; under a cgroup's limit RAM is
/// the cgroup's.
HEADRACE_API std::string status_line(const SystemSample& sample);

/// As many columns at most: the line, else "GPU 85 % 12.3/24.0G CPU 45 % RAM 18.4/64.0G" (G: GiB),
/// else as many of those figures as fit.
HEADRACE_API std::string status_line(const SystemSample& sample, std::size_t columns);

}  // namespace headrace::inline v1::monitor
