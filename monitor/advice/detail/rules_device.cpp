#include <headrace/monitor/advice/detail/loader_advice.h>
#include <headrace/monitor/advice/detail/rules.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/system/file_limits.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::monitor::detail {
namespace {

double per_step(const RunFacts& facts, double seconds) {
  return seconds / static_cast<double>(std::max<std::size_t>(facts.budget.steps, 1));
}

// Of the wall time: that the GPU was idle while neither data nor copies kept it waiting.
double unexplained_idle(const RunFacts& facts) {
  const StepBudget& budget = facts.budget;
  return std::max(0.0, 1.0 - gpu_busy(facts) - budget.data_stall_fraction() -
                           (budget.wall_s > 0 ? budget.copy_s / budget.wall_s : 0.0));
}

bool has_gpu_memory(const RunFacts& facts, const AdviceThresholds& limits) {
  const GpuFacts& gpu = *facts.gpu;
  return gpu.memory_total > 0 && static_cast<double>(gpu.memory_peak) <
                                     limits.half_empty_gpu * static_cast<double>(gpu.memory_total);
}

// What a step costs beside the kernels' own time is the same for a batch twice as large.
void double_batch(const RunFacts& facts, Advice& advice) {
  const SettingFacts& settings = facts.settings;
  const double busy = gpu_busy(facts);
  const double gain = 2.0 / (1.0 + busy);
  advice.setting = batch_key(settings);
  advice.old_value = fmt::format("{}", settings.batch);
  advice.new_value = fmt::format("{}", 2 * settings.batch);
  const bool halves = settings.accumulation > 1 && settings.accumulation % 2 == 0;
  advice.action = halves ? fmt::format(
                               "larger batches, with training.accumulation {} -> {} for the "
                               "same effective batch",
                               settings.accumulation, settings.accumulation / 2)
                         : "larger batches: the same launches for twice the samples (the effective "
                           "batch changes, so the learning rate may have to)";
  advice.effect = fmt::format("{} -> {} samples/s, GPU busy {} -> {}",
                              format_rate(facts.verdict.delivered_per_s),
                              format_rate(facts.verdict.delivered_per_s * gain), format_share(busy),
                              format_share(2.0 * busy / (1.0 + busy)));
}

void fewer_host_threads(const RunFacts& facts, Advice& advice) {
  const auto cores = static_cast<int>(facts.machine->cores);
  advice.setting = "threads.torch";
  advice.old_value = fmt::format("{}", facts.settings.torch_threads);
  advice.new_value = fmt::format("{}", std::max(1, cores / 4));
  advice.action = "leave cores to the thread that launches the kernels";
  advice.effect = fmt::format("GPU busy {} -> up to {}", format_share(gpu_busy(facts)),
                              format_share(gpu_busy(facts) + unexplained_idle(facts)));
}

std::string idle_parts(const RunFacts& facts) {
  return facts.host_launch_wait_s >= 0
             ? fmt::format("{} of a step's {} it had nothing queued",
                           format_seconds(per_step(facts, facts.host_launch_wait_s)),
                           format_seconds(per_step(facts, facts.budget.wall_s)))
             : fmt::format("{} of the time neither data nor copies explain",
                           format_share(unexplained_idle(facts)));
}

// Fewer threads beside the launching one, else larger batches, else fewer launches.
void fill_gaps(const RunFacts& facts, const AdviceThresholds& limits, double wait, Advice& advice) {
  const bool contended = facts.machine && least_busy_share(*facts.machine) > limits.host_cpu;
  if (contended)
    advice.evidence.push_back(
        share_of("machine_cpu_share", "CPU of the machine", facts.machine->machine_share));
  if (contended && has_key(facts.settings, "threads.torch") &&
      facts.settings.torch_threads > static_cast<int>(std::max(1u, facts.machine->cores / 4))) {
    fewer_host_threads(facts, advice);
  } else if (facts.settings.batch > 0 && 2 * facts.settings.batch <= most_records(facts) &&
             has_gpu_memory(facts, limits)) {
    advice.evidence.push_back(
        bytes_of("gpu_memory_peak_bytes", "GPU memory used", facts.gpu->memory_peak));
    double_batch(facts, advice);
  } else {
    advice.setting = "headrace doctor";
    advice.old_value = idle_parts(facts);
    advice.new_value = "fewer and larger launches";
    advice.action = "fewer reads of scalars in a step, larger operations, CUDA graphs";
    advice.effect = fmt::format("GPU busy {} -> up to {}", format_share(gpu_busy(facts)),
                                format_share(std::min(1.0, gpu_busy(facts) + wait)));
  }
}

bool hide_copies(const RunFacts& facts, Advice& advice) {
  const bool limited =
      !facts.files ||
      (facts.files->locked_limit != no_limit &&
       (facts.files->locked_needed == 0 || facts.files->locked_needed > facts.files->locked_limit));
  if (facts.page_locked && !*facts.page_locked && limited) {
    advice.verdict += ": the batches lie in memory that is not page-locked";
    advice.setting = "ulimit -l";
    advice.old_value = facts.files ? kibibytes(facts.files->locked_limit) : "too small";
    advice.new_value = facts.files && facts.files->locked_needed > 0
                           ? kibibytes(facts.files->locked_needed)
                           : "unlimited";
    advice.action = "let the loader lock its batches' memory";
  } else {
    const int ahead = std::max(facts.settings.prefetch, 1);
    if (ahead >= most_prefetch) return false;
    advice.setting = "data.prefetch";
    advice.old_value = fmt::format("{}", ahead);
    advice.new_value = fmt::format("{}", std::min(2 * ahead, most_prefetch));
    advice.action = "give the copies more batches to run ahead with";
  }
  return true;
}

void cite_clocks(const GpuFacts& gpu, Advice& advice) {
  if (gpu.temperature_c >= 0)
    advice.evidence.push_back(
        {"gpu_temperature_c", gpu.temperature_c, fmt::format("{:.0f} degrees", gpu.temperature_c)});
  if (gpu.sm_clock_mhz > 0 && gpu.most_sm_clock_mhz > 0) {
    advice.weight = std::clamp(1.0 - gpu.sm_clock_mhz / gpu.most_sm_clock_mhz, 0.0, 1.0);
    advice.evidence.push_back(
        {"sm_clock_mhz", gpu.sm_clock_mhz,
         fmt::format("{:.0f} of {:.0f} MHz", gpu.sm_clock_mhz, gpu.most_sm_clock_mhz)});
  }
  if (gpu.power_w >= 0)
    advice.evidence.push_back(
        {"gpu_power_w", gpu.power_w,
         gpu.power_limit_w > 0 ? fmt::format("{:.0f} of {:.0f} W", gpu.power_w, gpu.power_limit_w)
                               : fmt::format("{:.0f} W", gpu.power_w)});
  if (gpu.busy_share >= 0)
    advice.evidence.push_back(share_of("gpu_busy_share", "GPU busy", gpu.busy_share));
  if (advice.evidence.size() >= 3) return;
  advice.evidence.push_back(
      count_of("throttle_reasons", "reasons", static_cast<double>(gpu.throttled.size())));
}

void choose_cuda(const SettingFacts& settings, Advice& advice) {
  if (settings.device == "cuda") {
    advice.setting = "nvidia-smi";
    advice.old_value = "GPU busy below 1 %";
    advice.new_value = "this process among those of the GPU";
    advice.action = "look whether the steps' tensors are on the GPU";
    return;
  }
  advice.setting = "device";
  advice.old_value = settings.device.empty() ? "auto" : settings.device;
  advice.new_value = "cuda";
  advice.action =
      "with cuda a run ends before its first step and says what is missing: driver, "
      "build, or tensors on the host";
}

RuleAdvice slow_transfer(const RunFacts& facts, const AdviceThresholds& limits) {
  RuleAdvice advice = loader_advice(facts.verdict, facts.load, host_facts(facts), limits);
  return advice && advice->rule == "smaller-transfer" ? advice : std::nullopt;
}

}  // namespace

RuleAdvice gpu_unused(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.gpu_wanted || facts.budget.steps == 0) return {};
  const double busy = gpu_busy(facts);
  // In a container the driver may list nobody; what holds tensors of ours is used.
  const bool has_tensors = facts.allocator && facts.allocator->peak > 0;
  const bool no_kernel =
      facts.gpu && !facts.gpu->our_context && !has_tensors && busy >= 0 && busy < limits.idle_gpu;
  if (facts.budget.on_gpu && !no_kernel) return {};
  Advice advice{.rule = "gpu-unused",
                .severity = Severity::error,
                .verdict = fmt::format("training runs on the CPU though a GPU is {}{}{}",
                                       facts.no_gpu.empty() || !facts.gpu ? "configured" : "there",
                                       facts.no_gpu.empty() ? "" : ": ", facts.no_gpu),
                .weight = 1.0};
  advice.evidence = {
      count_of("steps", "steps", static_cast<double>(facts.budget.steps)),
      seconds_of("step_s", "a step takes", per_step(facts, facts.budget.wall_s)),
      seconds_of("compute_s", "of it computing", per_step(facts, facts.budget.compute_s))};
  if (busy >= 0) advice.evidence.push_back(share_of("gpu_busy_share", "GPU busy", busy));
  choose_cuda(facts.settings, advice);
  advice.effect = "GPU busy 0 % -> above 1 % from the first step on";
  advice.check = "nvidia-smi lists this process, and GPU busy is above 1 %";
  return advice;
}

RuleAdvice launch_gaps(const RunFacts& facts, const AdviceThresholds& limits) {
  const double busy = gpu_busy(facts);
  if (!knows_stall(facts) || waits_for_data(facts, limits) || busy < 0 ||
      busy >= limits.half_busy_gpu || !(facts.budget.wall_s > 0))
    return {};
  const bool measured = facts.host_launch_wait_s >= 0;
  const double wait =
      measured ? facts.host_launch_wait_s / facts.budget.wall_s : unexplained_idle(facts);
  if (wait < limits.launch_wait || (!measured && busy >= limits.starved_gpu)) return {};
  Advice advice{.rule = "launch-gaps",
                .severity = Severity::warning,
                .verdict = "the GPU waits for launches, not for data: " + idle_parts(facts),
                .weight = 1.0 - busy};
  advice.evidence = {share_of("gpu_busy_share", "GPU busy", busy), stall_of(facts),
                     share_of("launch_wait_share", "launch gaps", wait)};
  advice.check = "GPU busy and samples/s of the next epoch";
  fill_gaps(facts, limits, wait, advice);
  return advice;
}

RuleAdvice compute_bound(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!knows_stall(facts) || waits_for_data(facts, limits) || gpu_busy(facts) < limits.busy_gpu)
    return {};
  const bool known = std::isfinite(facts.verdict.headroom) && facts.verdict.headroom > 0;
  Advice advice{
      .rule = "compute-bound", .severity = Severity::info, .verdict = "the GPU sets the pace"};
  if (known)
    advice.verdict +=
        fmt::format("; the input could give {:.1f} times as much", facts.verdict.headroom);
  advice.evidence = {share_of("gpu_busy_share", "GPU busy", gpu_busy(facts)),
                     stall_of(facts),
                     {"samples_per_s", facts.verdict.delivered_per_s,
                      format_rate(facts.verdict.delivered_per_s) + " samples/s"}};
  if (known)
    advice.evidence.push_back({"headroom", facts.verdict.headroom,
                               fmt::format("input headroom {:.1f}", facts.verdict.headroom)});
  advice.action = "leave the input as it is: what is gained there is not seen";
  advice.effect = fmt::format("at most {} of the time is left to gain in the input",
                              format_share(facts.verdict.data_stall_fraction));
  advice.check = "GPU busy stays where it is";
  return advice;
}

RuleAdvice exposed_copies(const RunFacts& facts, const AdviceThresholds& limits) {
  const StepBudget& budget = facts.budget;
  const bool measured = budget.on_gpu && budget.steps > 0 && budget.wall_s > 0;
  const double share = measured ? budget.copy_s / budget.wall_s : 0.0;
  if (!(share > limits.exposed_copy)) return slow_transfer(facts, limits);
  if (!(share < 1.0)) return {};  // the clocks disagree
  Advice advice{.rule = "exposed-copies",
                .severity = share > limits.high_stall ? Severity::warning : Severity::notice,
                .verdict = "copies to the GPU are not hidden behind its work",
                .weight = share};
  advice.evidence = {share_of("copy_share", "copies", share),
                     seconds_of("copy_s", "of a step", per_step(facts, budget.copy_s)),
                     seconds_of("step_s", "a step takes", per_step(facts, budget.wall_s))};
  if (!hide_copies(facts, advice)) return {};
  advice.effect =
      fmt::format("copies {} -> below {}", format_share(share), format_share(limits.exposed_copy));
  if (const double pace = facts.verdict.delivered_per_s; pace > 0.0)
    advice.effect +=
        fmt::format(", {} -> {} samples/s", format_rate(pace), format_rate(pace / (1.0 - share)));
  advice.check = "the part \"copy\" of the steps in the next epoch";
  return advice;
}

RuleAdvice throttled_clocks(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.gpu) return {};
  const GpuFacts& gpu = *facts.gpu;
  const bool hot = gpu.temperature_c >= limits.gpu_temperature_c;
  if (gpu.throttled.empty() && !hot) return {};
  const std::string reasons =
      gpu.throttled.empty() ? "temperature" : fmt::format("{}", fmt::join(gpu.throttled, ", "));
  Advice advice{
      .rule = "throttled",
      .severity = Severity::warning,
      .verdict = fmt::format("the GPU slows itself down ({}): power or cooling, not code", reasons),
      .weight = 0.5};
  cite_clocks(gpu, advice);
  advice.setting = "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE";
  advice.old_value = reasons;
  advice.new_value = "no reason in force";
  advice.action = "look at the power limit and the cooling";
  advice.effect = gpu.sm_clock_mhz > 0 && gpu.most_sm_clock_mhz > gpu.sm_clock_mhz
                      ? fmt::format("up to {:.2f} times the pace where the GPU sets it",
                                    gpu.most_sm_clock_mhz / gpu.sm_clock_mhz)
                      : fmt::format("reasons in force {} -> 0, clocks as high as the card's",
                                    std::max<std::size_t>(gpu.throttled.size(), 1));
  advice.check = "clocks and reasons in the next window";
  return advice;
}

}  // namespace headrace::inline v1::monitor::detail
