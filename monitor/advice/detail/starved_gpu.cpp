#include <headrace/monitor/advice/detail/starved_gpu.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::monitor::detail {
namespace {

enum class Cause : unsigned char { batch, workers, prefetch, storage, launches, cpu, other };

struct Explanation {
  std::string_view rule;
  Cause cause;
};

// An exposed copy of a smaller share of the idle time is not its cause.
constexpr double least_of_idle = 0.5;

// Who explains it first, if several hold.
constexpr std::array<Explanation, 15> explanations{{{"cpu-shared", Cause::cpu},
                                                    {"chunk-shape", Cause::storage},
                                                    {"cold-pages", Cause::storage},
                                                    {"faster-storage", Cause::storage},
                                                    {"raise-io-threads", Cause::storage},
                                                    {"slow-sample", Cause::prefetch},
                                                    {"raise-prefetch", Cause::prefetch},
                                                    {"raise-threads", Cause::workers},
                                                    {"raise-limit", Cause::workers},
                                                    {"cheaper-step", Cause::cpu},
                                                    {"smaller-transfer", Cause::other},
                                                    {"exposed-copies", Cause::other},
                                                    {"noisy-loader", Cause::cpu},
                                                    {"launch-gaps", Cause::launches},
                                                    {"straggler", Cause::other}}};

bool is_starved(const RunFacts& facts, const AdviceThresholds& limits) {
  const double busy = gpu_busy(facts);
  if (busy < 0 || busy >= limits.starved_gpu || !knows_stall(facts)) return false;
  const double idle_samples = facts.gpu->idle_samples_share;
  return idle_samples < 0 || idle_samples > 0.5;
}

// Whether what it tells of is what the GPU waits for, not only there as well.
bool explains(const RunFacts& facts, const AdviceThresholds& limits, const Advice& advice) {
  if (advice.rule == "cpu-shared") return advice.severity >= Severity::warning;
  if (advice.rule == "chunk-shape") return waits_for_data(facts, limits);
  if (advice.rule != "exposed-copies") return true;
  const StepBudget& budget = facts.budget;
  return budget.copy_s >= least_of_idle * (1.0 - gpu_busy(facts)) * budget.wall_s;
}

// The first that explains it.
const Explanation* explanation_of(const RunFacts& facts, const AdviceThresholds& limits,
                                  const std::vector<Advice>& all) {
  const auto* const found = std::ranges::find_if(explanations, [&](const Explanation& one) {
    const auto advice = std::ranges::find(all, one.rule, &Advice::rule);
    return advice != all.end() && explains(facts, limits, *advice);
  });
  return found == explanations.end() ? nullptr : found;
}

Cause cause_of(const RunFacts& facts, const Advice& advice, Cause usual) {
  if (usual != Cause::launches) return usual;
  return advice.setting == batch_key(facts.settings) ? Cause::batch
         : advice.setting == "threads.torch"         ? Cause::cpu
                                                     : Cause::launches;
}

std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, 7> names{"the batch is too small",
                                                  "too few workers",
                                                  "too few batches ahead",
                                                  "storage",
                                                  "launch gaps",
                                                  "contention for the CPU",
                                                  "none of batch, workers, prefetch and storage"};
  return names[static_cast<std::size_t>(cause)];
}

const StageCapacity* slowest(const RunFacts& facts, StageRole role) {
  const auto& stages = facts.verdict.stages;
  const auto found = std::ranges::find(stages, role, &StageCapacity::role);
  return found == stages.end() ? nullptr : &*found;
}

std::string pace_of(const StageCapacity* stage) {
  if (stage == nullptr) return "nothing of it was seen";
  if (!std::isfinite(stage->capacity)) return "it does next to nothing";
  return fmt::format("{} can do {} samples/s, {:.1f} times what is asked", stage->name,
                     format_rate(stage->capacity), stage->headroom);
}

std::string why_not_batch(const RunFacts& facts, bool waits) {
  if (waits)
    return fmt::format("data are waited for {} of the time, whatever its size",
                       format_share(facts.verdict.data_stall_fraction));
  const GpuFacts& gpu = *facts.gpu;
  if (gpu.memory_total == 0 || gpu.memory_peak == 0) return "its kernels are not what is slow";
  return fmt::format(
      "{} of the GPU's memory is in use",
      format_share(static_cast<double>(gpu.memory_peak) / static_cast<double>(gpu.memory_total)));
}

// Why a change of it would not help, with its value.
std::string why_not(const RunFacts& facts, const AdviceThresholds& limits, Cause cause) {
  const SettingFacts& settings = facts.settings;
  const bool waits = waits_for_data(facts, limits);
  const std::string stall = format_share(facts.verdict.data_stall_fraction);
  switch (cause) {
    case Cause::batch:
      return fmt::format("{} {}: {}", batch_key(settings), settings.batch,
                         why_not_batch(facts, waits));
    case Cause::workers:
      return fmt::format("threads.loader {}: {}", facts.load.threads,
                         pace_of(slowest(facts, StageRole::worker)));
    case Cause::prefetch:
      return fmt::format("data.prefetch {}: {}", settings.prefetch,
                         waits ? "a larger reserve runs empty too"
                               : fmt::format("data stall is {} already", stall));
    case Cause::storage:
      return fmt::format("storage: {}", pace_of(slowest(facts, StageRole::io)));
    case Cause::launches:
      if (facts.host_launch_wait_s >= 0 && facts.budget.wall_s > 0)
        return fmt::format("launch gaps: {} of the time",
                           format_share(facts.host_launch_wait_s / facts.budget.wall_s));
      return "launch gaps: it waits before anything is launched";
    case Cause::cpu:
      return facts.machine ? fmt::format("CPU: {} of the machine is busy",
                                         format_share(facts.machine->machine_share))
                           : "CPU: not measured";
    case Cause::other:
      break;
  }
  return {};
}

std::string all_but(const RunFacts& facts, const AdviceThresholds& limits, Cause cause) {
  std::vector<std::string> reasons;
  for (const Cause one : {Cause::batch, Cause::workers, Cause::prefetch, Cause::storage,
                          Cause::launches, Cause::cpu}) {
    // A full CPU is what makes workers and launches slow, and a small batch what makes gaps.
    const bool same = one == cause || (cause == Cause::cpu && one == Cause::workers) ||
                      (cause == Cause::batch && one == Cause::launches);
    if (!same) reasons.push_back(why_not(facts, limits, one));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

Advice unexplained(const RunFacts& facts) {
  Advice advice{.rule = "launch-gaps", .number = 7, .severity = Severity::warning};
  advice.verdict = "no rule explains it";
  advice.evidence = {share_of("gpu_busy_share", "GPU busy", gpu_busy(facts)), stall_of(facts),
                     count_of("steps", "steps", static_cast<double>(facts.budget.steps))};
  advice.setting = "headrace doctor";
  advice.old_value = fmt::format("GPU busy {}", format_share(gpu_busy(facts)));
  advice.new_value = "what the GPU can do on made-up data";
  advice.action = "measure the GPU alone, then with data from memory, then from storage";
  advice.effect = fmt::format("the {} of its time that is idle gets a name",
                              format_share(1.0 - gpu_busy(facts)));
  advice.check = "GPU busy of the next epoch";
  return advice;
}

void put_at_head(const RunFacts& facts, const AdviceThresholds& limits, Advice& advice,
                 Cause cause) {
  const double busy = gpu_busy(facts);
  advice.severity = std::max(advice.severity, Severity::warning);
  advice.weight = 1.0 - busy;
  advice.verdict =
      fmt::format("the GPU is busy {} of the time; the cause: {}: {}; not {}", format_share(busy),
                  name_of(cause), advice.verdict, all_but(facts, limits, cause));
  if (std::ranges::find(advice.evidence, "gpu_busy_share", &Evidence::name) ==
      advice.evidence.end())
    advice.evidence.insert(advice.evidence.begin(), share_of("gpu_busy_share", "GPU busy", busy));
}

}  // namespace

bool explains_starved_gpu(const RunFacts& facts, const AdviceThresholds& limits,
                          const std::vector<Advice>& all) {
  return is_starved(facts, limits) && explanation_of(facts, limits, all) != nullptr;
}

void explain_starved_gpu(const RunFacts& facts, const AdviceThresholds& limits, bool explained,
                         std::vector<Advice>& all) {
  const auto find = [&](std::string_view rule) {
    return std::ranges::find(all, rule, &Advice::rule);
  };
  if (!is_starved(facts, limits) || find("gpu-unused") != all.end()) return;
  if (const Explanation* one = explanation_of(facts, limits, all)) {
    Advice& advice = *find(one->rule);
    return put_at_head(facts, limits, advice, cause_of(facts, advice, one->cause));
  }
  if (explained) return;
  all.push_back(unexplained(facts));
  put_at_head(facts, limits, all.back(), Cause::other);
}

}  // namespace headrace::inline v1::monitor::detail
