#include <headrace/monitor/format.h>
#include <headrace/monitor/system/system_facts.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

constexpr double idle_below = 0.30;
constexpr std::size_t most_other_processes = 200;  // that are remembered

std::string words_of(const GpuProcess& process) {
  const std::string name = process.name.empty() ? fmt::format("pid {}", process.pid)
                                                : fmt::format("{} {}", process.name, process.pid);
  if (process.memory == 0) return name;
  return fmt::format("{} ({})", name, format_bytes(process.memory));
}

}  // namespace

void SystemFacts::add(const SystemSample& sample) {
  ++samples_;
  cores_ = sample.cores;
  outside_ = sample.outside;
  machine_.add(sample.machine_share);
  if (sample.tree.processes > 0) process_.add(share_of_cores(sample));
  if (sample.tree.reads_told) {
    read_.add(sample.tree.read_per_s);
    read_from_disk_.add(sample.tree.read_from_disk_per_s);
  }
  if (sample.pressure) {
    io_pressure_.add(sample.pressure->io_some);
    memory_pressure_.add(sample.pressure->memory_some);
  }
  if (sample.host.total > 0) room_ = std::min(room_.value_or(UINT64_MAX), sample.host.room());
  processes_.add(sample);
  for (const GpuSample& gpu : sample.gpus)
    add_gpu(gpu);
}

void SystemFacts::add_gpu(const GpuSample& sample) {
  Gpu& gpu = gpus_[sample.index];
  gpu.name = sample.name;
  ++gpu.samples;
  if (sample.busy_share) {
    gpu.busy.add(*sample.busy_share);
    if (*sample.busy_share < idle_below) ++gpu.idle;
  }
  if (sample.sm_active_share) gpu.sm_active.add(*sample.sm_active_share);
  gpu.memory_total = std::max(gpu.memory_total, sample.memory_total.value_or(0));
  gpu.memory_peak = std::max(gpu.memory_peak, sample.memory_used.value_or(0));
  gpu.temperature_c = std::max(gpu.temperature_c, sample.temperature_c.value_or(-1.0));
  for (const std::string& reason : sample.throttled)
    ++gpu.throttled[reason];
  if (sample.sm_clock_mhz) gpu.sm_clock.add(*sample.sm_clock_mhz);
  if (sample.power_w) gpu.power.add(*sample.power_w);
  gpu.most_sm_clock_mhz = std::max(gpu.most_sm_clock_mhz, sample.most_sm_clock_mhz.value_or(-1.0));
  gpu.power_limit_w = std::max(gpu.power_limit_w, sample.power_limit_w.value_or(-1.0));
  std::uint64_t of_others = 0;
  for (const GpuProcess& process : sample.processes) {
    if (process.ours) gpu.ours = true;
    if (!process.ours) of_others += process.memory;
    if (!process.ours &&
        (gpu.others.contains(process.pid) || gpu.others.size() < most_other_processes))
      gpu.others[process.pid] = process;
  }
  gpu.others_memory = std::max(gpu.others_memory, of_others);
}

double SystemFacts::mean_of(const std::vector<const Gpu*>& gpus, Mean Gpu::*figure) {
  Mean mean;
  for (const Gpu* gpu : gpus)
    if ((gpu->*figure).count > 0) mean.add((gpu->*figure).value(0.0));
  return mean.value(-1.0);
}

std::optional<MachineFacts> SystemFacts::machine() const {
  if (samples_ == 0) return std::nullopt;
  return MachineFacts{.samples = samples_,
                      .cores = cores_,
                      .machine_share = machine_.value(0.0),
                      .process_share = process_.value(0.0),
                      .io_pressure = io_pressure_.value(-1.0),
                      .memory_pressure = memory_pressure_.value(-1.0),
                      .read_per_s = read_.value(0.0),
                      .read_from_disk_per_s = read_from_disk_.value(0.0),
                      .memory_room = room_.value_or(0),
                      .others = processes_.others(),
                      .outside = outside_};
}

std::vector<const SystemFacts::Gpu*> SystemFacts::chosen() const {
  std::vector<const Gpu*> ours;
  const Gpu* busiest = nullptr;
  for (const auto& [index, gpu] : gpus_) {
    if (gpu.ours) ours.push_back(&gpu);
    if (busiest == nullptr || gpu.busy.value(-1.0) > busiest->busy.value(-1.0)) busiest = &gpu;
  }
  if (ours.empty() && busiest != nullptr) ours.push_back(busiest);
  return ours;
}

std::optional<GpuFacts> SystemFacts::gpu() const {
  const std::vector<const Gpu*> gpus = chosen();
  if (gpus.empty()) return std::nullopt;
  GpuFacts facts{.name = gpus.front()->name,
                 .busy_share = mean_of(gpus, &Gpu::busy),
                 .sm_active_share = mean_of(gpus, &Gpu::sm_active),
                 .sm_clock_mhz = mean_of(gpus, &Gpu::sm_clock),
                 .power_w = mean_of(gpus, &Gpu::power)};
  Mean idle;
  for (const Gpu* gpu : gpus) {
    if (gpu->busy.count > 0)
      idle.add(static_cast<double>(gpu->idle) / static_cast<double>(gpu->busy.count));
    facts.others_memory = std::max(facts.others_memory, gpu->others_memory);
    facts.most_sm_clock_mhz = std::max(facts.most_sm_clock_mhz, gpu->most_sm_clock_mhz);
    facts.power_limit_w = std::max(facts.power_limit_w, gpu->power_limit_w);
    facts.memory_total = std::max(facts.memory_total, gpu->memory_total);
    facts.memory_peak = std::max(facts.memory_peak, gpu->memory_peak);
    facts.temperature_c = std::max(facts.temperature_c, gpu->temperature_c);
    facts.our_context = facts.our_context || gpu->ours;
    for (const auto& [reason, count] : gpu->throttled)
      if (2 * count > gpu->samples &&
          std::ranges::find(facts.throttled, reason) == facts.throttled.end())
        facts.throttled.push_back(reason);
    for (const auto& [pid, process] : gpu->others)
      facts.others.push_back(words_of(process));
  }
  facts.idle_samples_share = idle.value(-1.0);
  return facts;
}

void SystemFacts::clear() {
  BusiestTally processes = std::move(processes_);
  processes.clear();
  *this = {};
  processes_ = std::move(processes);
}

}  // namespace headrace::inline v1::monitor
