#include <headrace/monitor/memory/process_memory.h>
#include <headrace/monitor/system/cpu_usage.h>
#include <headrace/monitor/system/detail/pressure_meter.h>
#include <headrace/monitor/system/detail/proc_stat.h>

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace headrace::inline v1::monitor {

namespace fs = std::filesystem;
using detail::grown;

CpuSampler::CpuSampler(fs::path root)
    : root_(std::move(root)),
      cores_(usable_cores(root_)),
      tick_s_(detail::seconds_per_tick()),
      last_(read()) {}

CpuSampler::Reading CpuSampler::read() const {
  Reading reading;
  reading.at = std::chrono::steady_clock::now();
  if (const auto stat = detail::read_process_stat(root_ / "proc/self/stat"))
    reading.process_ticks = stat->ticks;
  reading.machine = detail::read_machine_ticks(root_);
  reading.io_pressure_us = detail::read_stalls(root_ / "proc/pressure/io").some_us;
  const fs::path threads = root_ / "proc/self/task";
  for (const int id : detail::numbered_entries(threads)) {
    const std::string name = std::to_string(id);
    if (auto stat = detail::read_process_stat(threads / name / "stat"))
      reading.threads[name] = {std::move(stat->name), stat->ticks};
  }
  return reading;
}

void CpuSampler::add_threads(CpuUsage& usage, const Reading& now, const Reading& before,
                             double tick_s) {
  std::map<std::string, ThreadUsage> by_name;
  for (const auto& [id, thread] : now.threads) {
    const auto old = before.threads.find(id);
    const std::uint64_t start = old == before.threads.end() ? 0 : old->second.ticks;
    ThreadUsage& sum = by_name[thread.name];
    sum.name = thread.name;
    ++sum.threads;
    sum.cores += static_cast<double>(grown(thread.ticks, start)) * tick_s / usage.interval_s;
  }
  for (auto& [name, sum] : by_name)
    usage.threads.push_back(std::move(sum));
  std::stable_sort(usage.threads.begin(), usage.threads.end(),
                   [](const ThreadUsage& a, const ThreadUsage& b) { return a.cores > b.cores; });
}

CpuUsage CpuSampler::sample() {
  Reading now = read();
  CpuUsage usage;
  usage.interval_s = std::max(1e-9, std::chrono::duration<double>(now.at - last_.at).count());
  const double busy_s =
      static_cast<double>(grown(now.process_ticks, last_.process_ticks)) * tick_s_;
  usage.process_cores = busy_s / usage.interval_s;
  usage.process_share = std::min(1.0, usage.process_cores / cores_);
  const detail::MachineShares machine = detail::machine_shares(now.machine, last_.machine);
  usage.machine_share = machine.busy;
  usage.iowait_share = machine.iowait;
  usage.steal_share = machine.steal;
  if (now.io_pressure_us && last_.io_pressure_us) {
    const double waited_s =
        static_cast<double>(grown(*now.io_pressure_us, *last_.io_pressure_us)) * 1e-6;
    usage.io_pressure_share = std::min(1.0, waited_s / usage.interval_s);
  }
  add_threads(usage, now, last_, tick_s_);
  last_ = std::move(now);
  return usage;
}

ProcessTicks read_process_ticks(const fs::path& root) {
  ProcessTicks ticks;
  const fs::path all = root / "proc";
  for (const int pid : detail::numbered_entries(all))
    if (auto stat = detail::read_process_stat(all / std::to_string(pid) / "stat"))
      ticks[pid] = {std::move(stat->name), stat->ticks};
  return ticks;
}

std::vector<ProcessUsage> busiest_processes(const ProcessTicks& before, const ProcessTicks& after,
                                            double interval_s, std::size_t count) {
  std::vector<ProcessUsage> result;
  const double tick_s = detail::seconds_per_tick();
  for (const auto& [pid, entry] : after) {
    const auto old = before.find(pid);
    // Fewer ticks than before: another process that got the number.
    const bool same = old != before.end() && old->second.second <= entry.second;
    const std::uint64_t used = entry.second - (same ? old->second.second : 0);
    const double cores = static_cast<double>(used) * tick_s / std::max(1e-9, interval_s);
    if (cores > 0) result.push_back({pid, entry.first, cores, pid == getpid()});
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.cores > b.cores; });
  if (result.size() > count) result.resize(count);
  return result;
}

}  // namespace headrace::inline v1::monitor
