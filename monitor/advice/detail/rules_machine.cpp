#include <headrace/monitor/advice/detail/loader_advice.h>
#include <headrace/monitor/advice/detail/rules.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::monitor::detail {
namespace {

// Workers that are needed for what the consumer asks.
int needed_workers(const RunFacts& facts) {
  const double headroom = facts.verdict.headroom;
  if (!std::isfinite(headroom) || !(headroom > 0)) return facts.settings.loader_threads;
  return static_cast<int>(std::ceil(facts.settings.loader_threads * pace_reserve / headroom));
}

// Of the run's: as many as others use beyond those that it may not use.
double cores_of_others(const MachineFacts& machine) {
  const double all =
      std::accumulate(machine.others.begin(), machine.others.end(), 0.0,
                      [](double sum, const ProcessUsage& one) { return sum + one.cores; });
  return std::max(0.0, all - machine.outside);
}

std::string named(const ProcessUsage& one) {
  return fmt::format("{} {} ({:.1f} cores)", one.name, one.pid, one.cores);
}

// A driver that lists no process of ours (in a container) lists them by numbers that say nothing.
bool holds_much(const GpuFacts& gpu, const AdviceThresholds& limits) {
  if (gpu.others.empty() || !gpu.our_context) return false;
  if (gpu.others_memory == 0 || gpu.memory_total == 0) return true;
  return static_cast<double>(gpu.others_memory) >=
         limits.other_gpu_memory * static_cast<double>(gpu.memory_total);
}

Advice cpu_shared(const RunFacts& facts, double share) {
  const MachineFacts& machine = *facts.machine;
  const ProcessUsage& busiest = machine.others.front();
  const double cores = std::max(1u, machine.cores);
  Advice advice{.rule = "cpu-shared",
                .severity = Severity::notice,
                .verdict = fmt::format("{} takes CPU that this run could use", named(busiest)),
                .weight = std::min(1.0, share)};
  advice.evidence = {
      {"other_cores", cores_of_others(machine),
       fmt::format("others use {:.1f} cores{}, this run may use {}", cores_of_others(machine),
                   machine.outside > 0 ? " of its own" : "", machine.cores)},
      share_of("process_cpu_share", "this run's share", machine.process_share),
      share_of("machine_cpu_share", "CPU of the machine", machine.machine_share)};
  if (const std::optional<double> queued = queued_share(facts))
    advice.evidence.push_back(
        share_of("queued_share", "the workers waited for a core at least", *queued));
  advice.setting = fmt::format("renice -n 19 -p {}", busiest.pid);
  advice.old_value = fmt::format("{:.1f} cores", busiest.cores);
  advice.new_value = "what this run leaves";
  advice.action = "let it wait, run it elsewhere, or give it cores of its own (taskset -cp)";
  advice.effect =
      fmt::format("cores for this run {:.1f} -> up to {:.1f}", machine.process_share * cores,
                  std::min(cores, machine.process_share * cores + busiest.cores));
  advice.check = "its share of the CPU, and samples/s, in the next epoch";
  return advice;
}

Advice gpu_shared(const RunFacts& facts) {
  const GpuFacts& gpu = *facts.gpu;
  Advice advice{.rule = "gpu-shared",
                .severity = Severity::warning,
                .verdict = fmt::format("{} uses the same GPU", fmt::join(gpu.others, ", ")),
                .weight = 0.5};
  if (gpu.others_memory > 0 && gpu.memory_total > 0)
    advice.weight = static_cast<double>(gpu.others_memory) / static_cast<double>(gpu.memory_total);
  const bool told = gpu.others_memory > 0;
  advice.evidence = {
      count_of("other_gpu_processes", "other processes", static_cast<double>(gpu.others.size())),
      told ? bytes_of("other_gpu_bytes", "memory they hold", gpu.others_memory)
           : bytes_of("gpu_memory_peak_bytes", "memory that all hold", gpu.memory_peak),
      bytes_of("gpu_memory_bytes", "of", gpu.memory_total)};
  if (gpu.busy_share >= 0)
    advice.evidence.push_back(share_of("gpu_busy_share", "GPU busy by all", gpu.busy_share));
  advice.setting = "nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv";
  advice.old_value = fmt::format("shared with {}", gpu.others.size());
  advice.new_value = "alone";
  advice.action = "end it, or set CUDA_VISIBLE_DEVICES to another card";
  advice.effect = told ? fmt::format("GPU memory for this run +{}, and all of its time",
                                     format_bytes(gpu.others_memory))
                       : fmt::format("others on the GPU {} -> 0", gpu.others.size());
  advice.check = "no other process on the card in the next epoch";
  return advice;
}

struct Limit {
  const char* rule;
  const char* what;
  std::string command;
  std::uint64_t has;
  std::uint64_t needs;
};

Advice too_small(const Limit& limit, const RunFacts::Files& files, bool in_bytes) {
  const auto shown = [&](std::uint64_t value) {
    return in_bytes ? kibibytes(value) : fmt::format("{}", value);
  };
  Advice advice{.rule = limit.rule,
                .severity = Severity::warning,
                .verdict = fmt::format("{} is too small for this run", limit.what),
                .weight = 1.0 - static_cast<double>(limit.has) /
                                    static_cast<double>(std::max<std::uint64_t>(limit.needs, 1))};
  advice.evidence = {
      {"limit", static_cast<double>(limit.has), "limit " + shown(limit.has)},
      {"needed", static_cast<double>(limit.needs), "needed " + shown(limit.needs)},
      {"open_files", static_cast<double>(files.open), fmt::format("{} files open", files.open)}};
  advice.setting = limit.command;
  advice.old_value = shown(limit.has);
  advice.new_value = shown(limit.needs);
  advice.action = "in the shell that starts the run";
  advice.effect = fmt::format("room for {} -> {}", shown(limit.has), shown(limit.needs));
  advice.check = fmt::format("{} says {} or more", limit.command, shown(limit.needs));
  return advice;
}

}  // namespace

RuleAdvice noisy_loader(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.machine || !facts.gpu || facts.gpu->busy_before < 0 || gpu_busy(facts) < 0 ||
      waits_for_data(facts, limits) || facts.settings.loader_threads == 0)
    return {};
  const MachineFacts& machine = *facts.machine;
  const double fall = facts.gpu->busy_before - gpu_busy(facts);
  if (!(least_busy_share(machine) > limits.host_cpu) || fall < limits.busy_fall) return {};
  const int threads = facts.settings.loader_threads;
  const int fair = static_cast<int>(threads * limits.host_cpu / machine.machine_share);
  const int fewer = std::max({1, fair, std::min(needed_workers(facts), threads)});
  Advice advice{.rule = "noisy-loader",
                .severity = Severity::notice,
                .verdict = "the machine's CPU is busy and the GPU is launched late",
                .weight = fall};
  advice.evidence = {share_of("machine_cpu_share", "CPU of the machine", machine.machine_share),
                     share_of("gpu_busy_share", "GPU busy", gpu_busy(facts)),
                     share_of("gpu_busy_before_share", "before", facts.gpu->busy_before)};
  const bool fewer_do = fewer < threads;
  advice.setting = fewer_do ? "threads.loader" : "taskset -cp";
  advice.old_value = fewer_do ? fmt::format("{}", threads) : "all cores";
  advice.new_value = fewer_do ? fmt::format("{}", fewer) : "one core kept free of the workers";
  advice.action = fewer_do ? "fewer workers are enough for what the GPU takes"
                           : "keep a core for the thread that launches the kernels";
  advice.effect = fmt::format("GPU busy {} -> {}", format_share(gpu_busy(facts)),
                              format_share(facts.gpu->busy_before));
  advice.check = "GPU busy of the next epoch";
  return advice;
}

RuleAdvice shared_machine(const RunFacts& facts, const AdviceThresholds& limits) {
  if (facts.machine && !facts.machine->others.empty() && facts.machine->cores > 0) {
    const double share = cores_of_others(*facts.machine) / facts.machine->cores;
    if (share >= limits.other_cpu) {
      Advice advice = cpu_shared(facts, share);
      const double busy = gpu_busy(facts);
      const bool harm = waits_for_data(facts, limits) ? loader_lacks_cores(facts, limits)
                                                      : busy >= 0 && busy < limits.starved_gpu;
      if (harm && least_busy_share(*facts.machine) >= limits.spare_cpu)
        advice.severity = Severity::warning;
      else
        advice.weight /= 10;  // it is there, and in nobody's way
      return advice;
    }
  }
  if (facts.gpu && holds_much(*facts.gpu, limits)) return gpu_shared(facts);
  return {};
}

RuleAdvice small_limits(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.files) return {};
  const RunFacts::Files& files = *facts.files;
  const auto used_up = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(files.open) / std::max(limits.open_files, 0.01)));
  const std::uint64_t needed = std::max(files.needed, used_up);
  if (files.limit > 0 && needed > files.limit) {
    Advice advice = too_small(
        {"file-limit", "the limit of open files", "ulimit -n", files.limit, needed}, files, false);
    if (files.hard_limit > 0 && needed > files.hard_limit)
      advice.action += fmt::format(", after the hard limit of {} was raised (limits.conf: nofile)",
                                   files.hard_limit);
    return advice;
  }
  if (files.locked_needed > 0 && files.locked_needed > files.locked_limit)
    return too_small({"locked-limit", "the limit of locked memory", "ulimit -l", files.locked_limit,
                      files.locked_needed},
                     files, true);
  if (files.shared_needed > 0 && files.shared_needed > files.shared_room)
    return too_small(
        {"shared-memory", "the mount of shared memory",
         fmt::format("mount -o remount,size={}k /dev/shm", files.shared_needed / 1024 + 1),
         files.shared_room, files.shared_needed},
        files, true);
  return {};
}

RuleAdvice straggler(const RunFacts& facts, const AdviceThresholds& limits) {
  const std::vector<double>& ranks = facts.rank_readiness;
  if (ranks.size() < 2) return {};
  std::vector<double> sorted = ranks;
  std::ranges::sort(sorted);
  const double middle = sorted[sorted.size() / 2];
  if (!(sorted.front() < limits.low_readiness) || middle < limits.good_readiness) return {};
  const auto rank = static_cast<std::size_t>(std::ranges::min_element(ranks) - ranks.begin());
  const std::string stage = rank < facts.rank_stages.size() ? facts.rank_stages[rank] : "";
  Advice advice{.rule = "straggler",
                .severity = Severity::warning,
                .verdict = fmt::format("rank {} holds all others back{}{}", rank,
                                       stage.empty() ? "" : ": its slowest stage is ", stage),
                .weight = middle - sorted.front()};
  advice.evidence = {count_of("rank", "rank", static_cast<double>(rank)),
                     share_of("readiness", "a batch was ready for", sorted.front()),
                     share_of("median_readiness", "on the others", middle),
                     count_of("ranks", "ranks", static_cast<double>(ranks.size()))};
  advice.setting = "headrace doctor";
  advice.old_value = fmt::format("ready {}", format_share(sorted.front()));
  advice.new_value = fmt::format("ready {}", format_share(middle));
  advice.action = "look at that rank's machine: its storage, its cores, who else is on it";
  advice.effect = fmt::format("readiness of rank {} {} -> {}", rank, format_share(sorted.front()),
                              format_share(middle));
  advice.check = "readiness of all ranks in the next epoch";
  return advice;
}

}  // namespace headrace::inline v1::monitor::detail
