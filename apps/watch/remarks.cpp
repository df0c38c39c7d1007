#include <headrace/apps/watch/remarks.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_share;
using monitor::MachineFacts;
using Sentence = std::optional<std::string>;

constexpr std::size_t fewest_samples = 5;
constexpr double full_cpu = 0.90;
constexpr double calm_cpu = 0.50;
constexpr double idle_gpu = 0.30;
constexpr double others_of_cores = 0.20;
constexpr double crowded = 0.70;
constexpr double long_waits = 0.20;
constexpr double nearly_all = 0.90;

Sentence others_take_cpu(const Seen& seen) {
  const MachineFacts& machine = seen.machine;
  if (!seen.watches_process || machine.others.empty() || machine.machine_share < crowded)
    return std::nullopt;
  const double all = std::accumulate(
      machine.others.begin(), machine.others.end(), 0.0,
      [](double sum, const monitor::ProcessUsage& process) { return sum + process.cores; });
  const double cores = all - machine.outside;  // of those that it may use
  if (cores < others_of_cores * machine.cores) return std::nullopt;
  const monitor::ProcessUsage& first = machine.others.front();
  return fmt::format(
      "other processes take {:.1f} of {} cores while all CPUs are {} busy: the most {} {} with "
      "{:.1f}; move them elsewhere, or give the training fewer threads",
      cores, machine.cores, format_share(machine.machine_share), first.name, first.pid,
      first.cores);
}

Sentence gpu_waits(const Seen& seen) {
  if (!seen.gpu || seen.gpu->busy_share < 0.0 || seen.gpu->busy_share >= idle_gpu)
    return std::nullopt;
  const std::string busy = format_share(seen.gpu->busy_share);
  const std::string cpu = format_share(seen.machine.machine_share);
  if (seen.machine.machine_share >= full_cpu)
    return fmt::format(
        "the GPU is {} busy while the CPUs are {} busy: more threads or workers will not help; "
        "make the input cheaper: cache what is decoded, decode smaller, or on the GPU",
        busy, cpu);
  if (seen.machine.machine_share >= calm_cpu)
    return fmt::format(
        "the GPU is {} busy and the CPUs are {} busy, neither calm nor full: too few threads for "
        "the input, or one slow thread; headrace doctor tells them apart",
        busy, cpu);
  const double io = seen.machine.io_pressure;
  return fmt::format(
      "the GPU is {} busy and the CPUs are {}: something waits{}; more threads or workers for "
      "the input, or a larger batch",
      busy, cpu, io >= 0.0 ? fmt::format(" (storage {} of the time)", format_share(io)) : "");
}

Sentence storage_waits(const Seen& seen) {
  const MachineFacts& machine = seen.machine;
  if (machine.io_pressure < long_waits) return std::nullopt;
  return fmt::format(
      "tasks wait for storage {} of the time, {}/s come from it{}: keep the data nearer, read "
      "larger pieces, or cache them",
      format_share(machine.io_pressure),
      format_bytes(static_cast<std::uint64_t>(machine.read_from_disk_per_s)),
      machine.read_per_s > 0.0
          ? fmt::format(" of {}/s that are read",
                        format_bytes(static_cast<std::uint64_t>(machine.read_per_s)))
          : "");
}

Sentence memory_is_short(const Seen& seen) {
  const auto& memory = seen.statistics.memory;
  if (!memory || memory->most < nearly_all) return std::nullopt;
  return fmt::format(
      "memory reached {} of {}, {} were left: shrink caches, prefetch or the number of workers "
      "before the kernel ends a process",
      format_share(memory->most), format_bytes(seen.statistics.memory_total),
      format_bytes(seen.machine.memory_room));
}

Sentence gpu_memory_is_short(const Seen& seen) {
  if (!seen.gpu || seen.gpu->memory_total == 0) return std::nullopt;
  const double share =
      static_cast<double>(seen.gpu->memory_peak) / static_cast<double>(seen.gpu->memory_total);
  if (share < nearly_all) return std::nullopt;
  return fmt::format(
      "GPU memory reached {} of {} ({}): a larger input or a longer sequence ends in out of "
      "memory; a smaller batch, lower precision or checkpointed blocks",
      format_share(share), format_bytes(seen.gpu->memory_total), seen.gpu->name);
}

Sentence gpu_is_slowed(const Seen& seen) {
  if (!seen.gpu || seen.gpu->throttled.empty()) return std::nullopt;
  return fmt::format("the GPU's clocks are held back ({}), at {:.0f} degrees C: hardware, not code",
                     fmt::join(seen.gpu->throttled, ", "), std::max(seen.gpu->temperature_c, 0.0));
}

Sentence gpu_is_shared(const Seen& seen) {
  if (!seen.watches_process || !seen.gpu || seen.gpu->others.empty()) return std::nullopt;
  return fmt::format("other processes are on the GPU: {}", fmt::join(seen.gpu->others, ", "));
}

}  // namespace

std::vector<std::string> remarks(const Seen& seen) {
  std::vector<std::string> sentences;
  if (seen.machine.samples < fewest_samples) return sentences;
  for (const auto rule : {gpu_waits, others_take_cpu, storage_waits, memory_is_short,
                          gpu_memory_is_short, gpu_is_slowed, gpu_is_shared})
    if (Sentence sentence = rule(seen)) sentences.push_back(std::move(*sentence));
  return sentences;
}

}  // namespace headrace::inline v1::app
