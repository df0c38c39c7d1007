#include <headrace/monitor/advice/detail/rules.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/memory_judge.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::monitor::detail {
namespace {

PhaseMemory phase_memory(const RunFacts::Allocator& allocator) {
  return {.allocated = allocator.allocated,
          .peak = allocator.peak,
          .reserved = allocator.reserved,
          .peak_reserved = std::max(allocator.peak_reserved, allocator.reserved),
          .inactive_split = allocator.inactive_split,
          .retries = allocator.retries,
          .on_gpu = true};
}

MemoryLimits limits_of(const RunFacts& facts) {
  MemoryLimits limits = facts.limits;
  if (limits.gpu == 0 && facts.gpu) limits.gpu = facts.gpu->memory_total;
  return limits;
}

// Epochs from now until `limit` is reached; negative: no limit is known.
double epochs_left(const RunFacts::Growth& growth, std::uint64_t limit) {
  if (limit == 0 || !(growth.slope > 0)) return -1.0;
  const double room =
      static_cast<double>(limit) - static_cast<double>(std::max(growth.most, growth.bytes));
  return std::ceil(std::max(room, 0.0) / growth.slope);
}

Advice growing(const RunFacts& facts, const RunFacts::Growth& growth, std::uint64_t limit) {
  Advice advice{.severity = Severity::warning};
  advice.evidence = {
      bytes_of("growth_per_epoch_bytes", "growth an epoch", whole_bytes(growth.slope)),
      bytes_of("growth_low_bytes", "at least", whole_bytes(growth.low)),
      bytes_of("growth_high_bytes", "at most", whole_bytes(growth.high))};
  if (growth.bytes > 0) advice.evidence.push_back(bytes_of("held_bytes", "now", growth.bytes));
  const double left = epochs_left(growth, limit);
  const double all = static_cast<double>(facts.epochs - facts.epoch);
  advice.effect = fmt::format("+{} an epoch -> 0", format_bytes(whole_bytes(growth.slope)));
  if (left >= 0) {
    if (growth.most > growth.bytes)
      advice.evidence.push_back(bytes_of("most_bytes", "in all at most", growth.most));
    advice.evidence.push_back(bytes_of("limit_bytes", "limit", limit));
    advice.effect +=
        left > all ? fmt::format("; as it is the limit of {} is not reached in {} epochs",
                                 format_bytes(limit), facts.epochs)
                   : fmt::format("; as it is the limit of {} is reached in epoch {:.0f}",
                                 format_bytes(limit), static_cast<double>(facts.epoch) + left);
    advice.weight = std::min(1.0, std::max(all, 1.0) / std::max(left, 1.0));
  } else {
    advice.weight = 0.5;
  }
  advice.setting = "headrace profile-memory";
  advice.old_value = fmt::format("+{} an epoch", format_bytes(whole_bytes(growth.slope)));
  advice.new_value = "level";
  advice.check = "memory at the end of the next epochs";
  return advice;
}

bool grows(const std::optional<RunFacts::Growth>& growth, const AdviceThresholds& limits) {
  return growth && growth->slope > limits.growth && growth->low > limits.growth;
}

Advice nearly_full_advice(const RunFacts& facts, const MemoryRemark& remark, double share) {
  const SettingFacts& settings = facts.settings;
  Advice advice{.rule = "gpu-nearly-full",
                .severity = Severity::warning,
                .verdict = remark.sentence,
                .weight = share};
  advice.check = "GPU memory's peak in the next run";
  if (settings.batch < 2) {
    advice.setting = "headrace profile-memory";
    advice.old_value = fmt::format("batch {}", settings.batch);
    advice.new_value = "a smaller input or network";
    advice.action = "the batch cannot be smaller: see what takes the memory";
    advice.effect = fmt::format("GPU memory {} -> less", format_share(share));
    return advice;
  }
  advice.setting = batch_key(settings);
  advice.old_value = fmt::format("{}", settings.batch);
  advice.new_value = fmt::format("{}", settings.batch / 2);
  advice.action = fmt::format(
      "smaller batches, with training.accumulation {} -> {} for {}the same effective batch",
      settings.accumulation, 2 * settings.accumulation, settings.batch % 2 == 0 ? "" : "nearly ");
  advice.effect =
      fmt::format("GPU memory {} -> down to {}", format_share(share), format_share(share / 2.0));
  return advice;
}

void hold_less(const SettingFacts& settings, Advice& advice) {
  if (settings.prefetch > 1) {
    advice.setting = "data.prefetch";
    advice.old_value = fmt::format("{}", settings.prefetch);
    advice.new_value = fmt::format("{}", settings.prefetch / 2);
    advice.action = "keep fewer batches ahead, or hold less of the data in memory";
  } else {
    advice.setting = batch_key(settings);
    advice.old_value = fmt::format("{}", settings.batch);
    advice.new_value =
        settings.batch > 1 ? fmt::format("{}", settings.batch / 2) : "smaller inputs";
    advice.action = "take smaller batches, or hold less of the data in memory";
  }
}

RuleAdvice room_on_gpu(const RunFacts& facts, const AdviceThresholds& limits, double share) {
  const double busy = gpu_busy(facts);
  const bool idle = busy >= 0 && busy < limits.busy_gpu;
  if (!(share < limits.half_empty_gpu) || !idle || !knows_stall(facts) ||
      waits_for_data(facts, limits) || facts.settings.batch == 0 || !(share > 0))
    return {};
  // What does not grow with the batch is counted as if it did: rather too small.
  const double by_memory =
      std::floor(static_cast<double>(facts.settings.batch) * limits.nearly_full_gpu / share);
  const auto larger =
      static_cast<std::int64_t>(std::min(by_memory, static_cast<double>(most_records(facts))));
  if (larger <= facts.settings.batch) return {};
  Advice advice{.rule = "gpu-memory-free",
                .severity = Severity::notice,
                .verdict = "the GPU has memory for larger batches and time for them",
                .weight = 1.0 - share};
  advice.setting = batch_key(facts.settings);
  advice.old_value = fmt::format("{}", facts.settings.batch);
  advice.new_value = fmt::format("{}", larger);
  advice.action =
      "larger batches (the effective batch changes, unless training.accumulation falls); "
      "headrace profile-memory --find-optimal tries it";
  advice.effect =
      fmt::format("GPU memory {} -> at most {}, GPU busy {} -> higher", format_share(share),
                  format_share(limits.nearly_full_gpu), format_share(busy));
  advice.evidence.push_back(share_of("gpu_busy_share", "GPU busy", busy));
  advice.check = "headrace profile-memory --find-optimal, then GPU busy and samples/s";
  return advice;
}

}  // namespace

RuleAdvice process_grows(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!grows(facts.process_growth, limits)) return {};
  const RunFacts::Growth& growth = *facts.process_growth;
  Advice advice = growing(facts, growth, facts.limits.process);
  advice.rule = "process-grows";
  advice.verdict = fmt::format("memory grows from epoch to epoch: most of it is held by {}",
                               growth.owner.empty() ? "what is beside tensors" : growth.owner);
  advice.action = "look at who holds it; freeing unused memory does not help, it is in use";
  return advice;
}

RuleAdvice tensors_grow(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!grows(facts.tensor_growth, limits)) return {};
  const RunFacts::Growth& growth = *facts.tensor_growth;
  const MemoryLimits limit = limits_of(facts);
  Advice advice = growing(facts, growth, facts.allocator ? limit.gpu : limit.process);
  advice.rule = "tensors-grow";
  advice.verdict = fmt::format("tensors are kept from epoch to epoch{}{}",
                               growth.owner.empty() ? "" : ", most of it by ", growth.owner);
  advice.action =
      "keep numbers or detached copies, no losses with their graphs, no lists of outputs";
  return advice;
}

RuleAdvice memory_in_pieces(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.allocator) return {};
  const PhaseMemory memory = phase_memory(*facts.allocator);
  const auto remark = fragmented(memory, limits.unused_reserved);
  if (!remark) return {};
  Advice advice{.rule = remark->rule,
                .severity = Severity::warning,
                .verdict = "the GPU's memory is in pieces; a larger GPU is not what is missing"};
  const std::uint64_t unused = memory.peak_reserved - std::min(memory.peak_reserved, memory.peak);
  advice.weight = memory.peak_reserved == 0
                      ? 0.0
                      : static_cast<double>(unused) / static_cast<double>(memory.peak_reserved);
  advice.evidence = {bytes_of("reserved_bytes", "reserved", memory.peak_reserved),
                     bytes_of("peak_bytes", "in tensors", memory.peak),
                     bytes_of("inactive_split_bytes", "in pieces", memory.inactive_split),
                     count_of("retries", "given back", static_cast<double>(memory.retries))};
  advice.setting = "export PYTORCH_CUDA_ALLOC_CONF";
  advice.old_value = "as set";
  advice.new_value = "expandable_segments:True";
  advice.action = "let segments grow, and take inputs of one size";
  advice.effect = fmt::format("reserved {} -> about {}, no retries",
                              format_bytes(memory.peak_reserved), format_bytes(memory.peak));
  advice.check = "retries and memory in pieces of the next run";
  return advice;
}

RuleAdvice gpu_memory(const RunFacts& facts, const AdviceThresholds& limits) {
  const MemoryLimits limit = limits_of(facts);
  if (!facts.allocator || limit.gpu == 0) return {};
  const PhaseMemory memory = phase_memory(*facts.allocator);
  const double share = static_cast<double>(memory.peak) / static_cast<double>(limit.gpu);
  RuleAdvice advice;
  if (const auto remark = nearly_full(memory, limit, limits.nearly_full_gpu))
    advice = nearly_full_advice(facts, *remark, share);
  else
    advice = room_on_gpu(facts, limits, share);
  if (!advice) return advice;
  const std::uint64_t left = limit.gpu - std::min(limit.gpu, memory.peak);
  const std::vector<Evidence> figures{bytes_of("peak_bytes", "tensors at most", memory.peak),
                                      bytes_of("gpu_limit_bytes", "of", limit.gpu),
                                      bytes_of("left_bytes", "left", left)};
  advice->evidence.insert(advice->evidence.begin(), figures.begin(), figures.end());
  return advice;
}

RuleAdvice memory_forecast(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.plan || facts.plan->limit == 0) return {};
  const PlanFacts& plan = *facts.plan;
  const double share = static_cast<double>(plan.forecast) / static_cast<double>(plan.limit);
  if (!(share > limits.forecast)) return {};
  const std::uint64_t missing = plan.forecast - std::min(plan.forecast, plan.limit);
  Advice advice{.rule = "memory-forecast",
                .severity = Severity::error,
                .verdict = "the run would not fit its memory",
                .weight = 1.0};
  advice.evidence = {bytes_of("forecast_bytes", "forecast", plan.forecast),
                     bytes_of("limit_bytes", "limit", plan.limit),
                     bytes_of("missing_bytes", "missing", missing)};
  if (!plan.largest.empty()) advice.verdict += ": most is " + plan.largest;
  if (has_key(facts.settings, "memory.fit")) {
    advice.setting = "memory.fit";
    advice.old_value = "false";
    advice.new_value = "true";
    advice.action = "take smaller micro-batches, the same effective batch";
  } else {
    hold_less(facts.settings, advice);
  }
  advice.effect = fmt::format("forecast {} -> at most {}", format_bytes(plan.forecast),
                              format_bytes(plan.limit));
  advice.check = "the table of memory at the start";
  return advice;
}

}  // namespace headrace::inline v1::monitor::detail
