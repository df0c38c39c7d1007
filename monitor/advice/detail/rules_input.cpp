#include <headrace/monitor/advice/detail/loader_advice.h>
#include <headrace/monitor/advice/detail/rules.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::monitor::detail {
namespace {

// Of a machine that others fill: more workers bring no cores.
bool cores_are_taken(const RunFacts& facts, const AdviceThresholds& limits) {
  return facts.machine && least_busy_share(*facts.machine) >= limits.full_cpu &&
         !loader_sleeps(facts, limits);
}

// The loader's advice, if it is one of these. What others have counts for threads that work.
RuleAdvice one_of(const RunFacts& facts, const AdviceThresholds& limits,
                  std::initializer_list<std::string_view> names) {
  HostFacts host = host_facts(facts);
  if (facts.machine && !loader_sleeps(facts, limits) && !cores_are_taken(facts, limits))
    host.idle_cpu_share = std::max(0.0, 1.0 - least_busy_share(*facts.machine));
  RuleAdvice advice = loader_advice(facts.verdict, facts.load, host, limits);
  if (!advice || std::ranges::find(names, advice->rule) == names.end()) return std::nullopt;
  return advice;
}

// Batches ahead in the configuration's own count.
bool prefetch_by_key(const SettingFacts& settings, Advice& advice, int wanted) {
  if (settings.prefetch == 0) return true;
  if (settings.prefetch >= most_prefetch) return false;
  const int more = std::clamp(wanted, settings.prefetch + 1, most_prefetch);
  advice.old_value = fmt::format("{}", settings.prefetch);
  advice.new_value = fmt::format("{}", more);
  return true;
}

void cache_decoded(const RunFacts& facts, Advice& advice) {
  const SettingFacts& settings = facts.settings;
  const std::uint64_t room = facts.machine ? facts.machine->memory_room : 0;
  const bool in_memory = settings.decoded_bytes > 0 && settings.decoded_bytes <= room;
  advice.action = "more threads will not help: keep what is made before anything random";
  if (!settings.random_before_cache.empty())
    advice.action += fmt::format(" (what comes behind {} is made anew)",
                                 fmt::join(settings.random_before_cache, ", "));
  if (settings.decoded_bytes > 0)
    set_cache(in_memory, settings.decoded_bytes, advice);
  else
    set_cache(true, room / 2, advice);
  if (settings.decoded_bytes > 0)
    advice.evidence.push_back(
        bytes_of("decoded_bytes", "all records decoded", settings.decoded_bytes));
}

// As many batches ahead as the longest wait takes to train on.
int hiding_prefetch(const StepBudget& budget, int ahead) {
  const std::size_t steps = std::max<std::size_t>(budget.steps, 1);
  const double step_s = budget.wall_s / static_cast<double>(steps);
  const double behind = step_s > 0 ? std::ceil(budget.wait_max_s / step_s) : 0.0;
  return std::max(2 * ahead, ahead + static_cast<int>(std::min(behind, 64.0)));
}

bool gpu_can_decode(const RunFacts& facts, const AdviceThresholds& limits) {
  const double busy = gpu_busy(facts);
  return busy >= 0 && busy < limits.busy_gpu && facts.settings.decode_device == "cpu" &&
         has_key(facts.settings, "image.decode");
}

// What the configuration can do about a step that is too dear; else it stays in words.
void choose_cheaper(const RunFacts& facts, const AdviceThresholds& limits, Advice& advice) {
  const StageCapacity& stage = facts.verdict.stages.front();
  const SettingFacts& settings = facts.settings;
  const auto without = [&] {
    return predicted_effect(facts.verdict, with_service(facts.load, stage.name, 0.0));
  };
  const bool knows_size =
      settings.decoded_bytes > 0 || (facts.machine && facts.machine->memory_room > 0);
  const bool can_keep =
      stage.stage == "decode" && has_key(settings, "data.cache.memory") && !settings.has_cache;
  if (can_keep && settings.may_cache() && knows_size) {
    cache_decoded(facts, advice);
    advice.effect = without() + " from the second epoch on";
  } else if (can_keep && may_decode_whole(settings)) {
    decode_whole(settings, advice);
    advice.action = "more threads will not help: " + advice.action;
    advice.effect = without() + " from the second epoch on, with the cache";
  } else if (stage.stage == "decode" && gpu_can_decode(facts, limits)) {
    advice.setting = "image.decode";
    advice.old_value = "cpu";
    advice.new_value = "cuda";
    advice.action = "more threads will not help: decode on the GPU, which has time to spare";
    advice.effect = without();
  } else if (stage.stage == "augment" && has_key(settings, "augment")) {
    advice.setting = "augment";
    advice.old_value = fmt::format("{} {}", stage.name, format_seconds(stage.service_s));
    advice.new_value = fmt::format("without {}, or cheaper", stage.name);
    advice.action = "more threads will not help: leave the operation out, or on smaller pictures";
    advice.effect = without();
  }
}

}  // namespace

RuleAdvice raise_concurrency(const RunFacts& facts, const AdviceThresholds& limits) {
  RuleAdvice advice =
      one_of(facts, limits, {"raise-threads", "raise-io-threads", "raise-limit", "raise-prefetch"});
  if (!advice) return advice;
  if (advice->rule == "raise-threads" && cores_are_taken(facts, limits)) return std::nullopt;
  const StageCapacity& stage = facts.verdict.stages.front();
  advice->evidence.push_back(share_of("pool_occupancy", "its threads busy",
                                      std::min(1.0, pool_occupancy(facts.verdict, stage))));
  if (advice->rule == "raise-prefetch" &&
      !prefetch_by_key(facts.settings, *advice, 2 * facts.settings.prefetch))
    return std::nullopt;
  return advice;
}

RuleAdvice cheaper_work(const RunFacts& facts, const AdviceThresholds& limits) {
  RuleAdvice advice = one_of(facts, limits, {"cheaper-step"});
  if (!advice) return advice;
  const StageCapacity& stage = facts.verdict.stages.front();
  advice->verdict = fmt::format("{} costs more than the cores have: {} of the workers' time is it",
                                stage.name, format_share(stage.pool_share));
  choose_cheaper(facts, limits, *advice);
  return advice;
}

RuleAdvice slow_sample(const RunFacts& facts, const AdviceThresholds& limits) {
  const double wait_s = facts.load.consumer_wait_s;
  if (!waits_for_data(facts, limits) || facts.verdict.stages.empty() || !(wait_s > 0)) return {};
  const double share = facts.reorder_wait_s / wait_s;
  const StageCapacity& stage = facts.verdict.stages.front();
  const double busy = pool_occupancy(facts.verdict, stage);
  if (!(share > limits.reorder_share) || !lacks_reserve(facts.verdict, stage, limits)) return {};
  Advice advice{.rule = "slow-sample",
                .severity = Severity::warning,
                .verdict = "one slow sample holds the line: batches behind it are ready and wait",
                .weight = facts.verdict.data_stall_fraction};
  advice.evidence = {seconds_of("reorder_wait_s", "waits for order", facts.reorder_wait_s),
                     seconds_of("data_wait_s", "waits for data", wait_s),
                     share_of("pool_occupancy", "threads busy", busy), stall_of(facts)};
  const int ahead =
      facts.settings.prefetch > 0 ? facts.settings.prefetch : static_cast<int>(facts.load.slabs);
  if (ahead >= most_prefetch) return {};
  advice.setting = "data.prefetch";
  advice.old_value = fmt::format("{}", ahead);
  advice.new_value =
      fmt::format("{}", std::min(hiding_prefetch(facts.budget, ahead), most_prefetch));
  advice.action = "keep more batches under way, so that the slow one has time";
  if (facts.batches && !facts.batches->slowest.empty())
    advice.action += fmt::format("; slowest: {}", fmt::join(facts.batches->slowest, ", "));
  advice.effect =
      fmt::format("data stall {} -> {} if the longest wait, {}, is hidden",
                  format_share(facts.verdict.data_stall_fraction),
                  format_share(facts.verdict.data_stall_fraction * std::max(0.0, 1.0 - share)),
                  format_seconds(facts.budget.wait_max_s));
  advice.check = "waits for order and data stall of the next epoch";
  return advice;
}

RuleAdvice variable_cost(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.batches || !waits_for_data(facts, limits) || !(facts.batches->mean_s > 0)) return {};
  const BatchFacts& batches = *facts.batches;
  const double spread = batches.sd_s / batches.mean_s;
  if (!(spread > limits.batch_spread) || batches.size_correlation < limits.size_correlation)
    return {};
  Advice advice{.rule = "variable-cost",
                .severity = Severity::notice,
                .verdict = "large samples make slow batches: cost grows with their size",
                .weight = facts.verdict.data_stall_fraction};
  advice.evidence = {seconds_of("batch_mean_s", "a batch takes", batches.mean_s),
                     share_of("batch_spread", "give or take", spread),
                     {"size_correlation", batches.size_correlation,
                      fmt::format("correlation with size {:.2f}", batches.size_correlation)},
                     stall_of(facts)};
  const bool pictures = !facts.settings.decode_device.empty();
  if (!pictures && facts.settings.prefetch >= most_prefetch) return {};
  advice.setting = pictures ? "headrace pack images --longest-side" : "data.prefetch";
  advice.old_value = pictures ? "as they are" : fmt::format("{}", facts.settings.prefetch);
  advice.new_value =
      pictures
          ? "one size near what is learnt from"
          : fmt::format("{}", std::min(2 * std::max(facts.settings.prefetch, 1), most_prefetch));
  advice.action = pictures ? "give records one size before training, or group them by size"
                           : "keep more batches under way, or group records by size";
  advice.effect = fmt::format("batches of {} +- {} -> +- {}", format_seconds(batches.mean_s),
                              format_share(spread), format_share(limits.batch_spread));
  advice.check = "spread of the batches' times in the next epoch";
  return advice;
}

}  // namespace headrace::inline v1::monitor::detail
