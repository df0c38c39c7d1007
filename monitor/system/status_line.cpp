#include <headrace/monitor/system/detail/memory_in_use.h>
#include <headrace/monitor/system/status_line.h>
#include <headrace/monitor/system/usage_statistics.h>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

using Used = detail::MemoryInUse;

struct Figures {
  std::string gpu{};  // "85 % x8", "n/a"
  Used gpu_memory{};
  double cpu = 0.0;
  Used memory{};
};

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100.0 * share);
}

double gib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
}

std::string amounts(const Used& used) {
  return fmt::format("{:.1f}/{:.1f}", gib(used.used), gib(used.total));
}

std::string gpu_words(const SystemSample& sample) {
  const auto share = gpu_busy_share(sample);
  if (!share) return "n/a";
  const auto told = std::ranges::count_if(
      sample.gpus, [](const GpuSample& gpu) { return gpu.busy_share.has_value(); });
  const std::string busy = percent(*share);
  return told > 1 ? fmt::format("{} x{}", busy, told) : busy;
}

Figures figures_of(const SystemSample& sample) {
  return {.gpu = gpu_words(sample),
          .gpu_memory = detail::gpu_memory_in_use(sample),
          .cpu = sample.machine_share,
          .memory = detail::memory_in_use(sample.host)};
}

std::string full(const Figures& figures) {
  std::string line = "GPU: " + figures.gpu;
  const Used& gpu = figures.gpu_memory;
  if (gpu.total > 0)
    line += fmt::format(" | VRAM: {} GiB ({})", amounts(gpu),
                        percent(static_cast<double>(gpu.used) / static_cast<double>(gpu.total)));
  line += " | CPU: " + percent(figures.cpu);
  if (figures.memory.total > 0) line += fmt::format(" | RAM: {} GiB", amounts(figures.memory));
  return line;
}

std::string brief(const Figures& figures, std::size_t columns) {
  std::string gpu = "GPU " + figures.gpu;
  if (figures.gpu_memory.total > 0) gpu += fmt::format(" {}G", amounts(figures.gpu_memory));
  std::string line = gpu.size() <= columns ? gpu : "";
  const auto add = [&](const std::string& part) {
    const std::size_t gap = line.empty() ? 0 : 1;
    if (line.size() + gap + part.size() <= columns) line += std::string(gap, ' ') + part;
  };
  add("CPU " + percent(figures.cpu));
  if (figures.memory.total > 0) add(fmt::format("RAM {}G", amounts(figures.memory)));
  return line;
}

}  // namespace

std::string status_line(const SystemSample& sample) {
  return full(figures_of(sample));
}

std::string status_line(const SystemSample& sample, std::size_t columns) {
  const Figures figures = figures_of(sample);
  std::string line = full(figures);
  return line.size() <= columns ? line : brief(figures, columns);
}

}  // namespace headrace::inline v1::monitor
