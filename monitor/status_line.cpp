#include <headrace/monitor/detail/memory_in_use.h>
#include <headrace/monitor/status_line.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

struct Used {
  std::uint64_t bytes = 0;
  std::uint64_t of = 0;  // 0: unknown
};

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
  return fmt::format("{:.1f}/{:.1f}", gib(used.bytes), gib(used.of));
}

std::string gpu_words(const SystemSample& sample) {
  double sum = 0.0;
  int told = 0;
  for (const GpuSample& gpu : sample.gpus) {
    if (!gpu.busy_share) continue;
    sum += *gpu.busy_share;
    ++told;
  }
  if (told == 0) return "n/a";
  const std::string busy = percent(sum / told);
  return told > 1 ? fmt::format("{} x{}", busy, told) : busy;
}

Figures figures_of(const SystemSample& sample) {
  Figures figures{.gpu = gpu_words(sample), .cpu = sample.machine_share};
  for (const GpuSample& gpu : sample.gpus) {
    if (!gpu.memory_used || !gpu.memory_total) continue;
    figures.gpu_memory.bytes += *gpu.memory_used;
    figures.gpu_memory.of += *gpu.memory_total;
  }
  const detail::MemoryInUse memory = detail::memory_in_use(sample.host);
  figures.memory = {.bytes = memory.used, .of = memory.total};
  return figures;
}

std::string full(const Figures& figures) {
  std::string line = "GPU: " + figures.gpu;
  const Used& gpu = figures.gpu_memory;
  if (gpu.of > 0)
    line += fmt::format(" | VRAM: {} GiB ({})", amounts(gpu),
                        percent(static_cast<double>(gpu.bytes) / static_cast<double>(gpu.of)));
  line += " | CPU: " + percent(figures.cpu);
  if (figures.memory.of > 0) line += fmt::format(" | RAM: {} GiB", amounts(figures.memory));
  return line;
}

std::string brief(const Figures& figures, std::size_t columns) {
  std::string gpu = "GPU " + figures.gpu;
  if (figures.gpu_memory.of > 0) gpu += fmt::format(" {}G", amounts(figures.gpu_memory));
  std::string line = gpu.size() <= columns ? gpu : "";
  const auto add = [&](const std::string& part) {
    const std::size_t gap = line.empty() ? 0 : 1;
    if (line.size() + gap + part.size() <= columns) line += std::string(gap, ' ') + part;
  };
  add("CPU " + percent(figures.cpu));
  if (figures.memory.of > 0) add(fmt::format("RAM {}G", amounts(figures.memory)));
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
