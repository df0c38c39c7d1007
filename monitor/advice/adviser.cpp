#include <headrace/monitor/advice/advice.h>
#include <headrace/monitor/advice/advice_rules.h>
#include <headrace/monitor/advice/adviser.h>
#include <headrace/monitor/advice/detail/starved_gpu.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::monitor::detail {
namespace {

struct Contradiction {
  std::string_view fundamental;
  std::vector<std::string_view> others;
  Severity from = Severity::info;  // a milder one contradicts nothing
};

constexpr std::string_view raise_threads_rule = "raise-threads";
constexpr std::string_view raise_io_rule = "raise-io-threads";
constexpr std::string_view raise_limit_rule = "raise-limit";
constexpr std::string_view raise_prefetch_rule = "raise-prefetch";
constexpr std::string_view cheaper_step_rule = "cheaper-step";
constexpr std::string_view faster_storage_rule = "faster-storage";

// By fundamental: what never starts; what runs on the wrong device; what is outside the run; what
// is wrong with the data as they lie; what is wrong with one sample; then the loader's settings.
const std::vector<Contradiction> contradictions{
    Contradiction{"no-batch",
                  {"memory-forecast", "gpu-unused", raise_threads_rule, raise_io_rule,
                   raise_limit_rule, raise_prefetch_rule, cheaper_step_rule, faster_storage_rule,
                   "launch-gaps", "time-budget"}},
    Contradiction{
        "gpu-unused",
        {raise_threads_rule, raise_io_rule, raise_limit_rule, raise_prefetch_rule,
         cheaper_step_rule, faster_storage_rule, "launch-gaps", "compute-bound", "noisy-loader",
         "exposed-copies", "smaller-transfer", "gpu-memory-free", "throttled", "time-budget"}},
    // The GPU has nothing to gain from the input.
    Contradiction{
        "compute-bound",
        {raise_threads_rule, raise_io_rule, raise_limit_rule, raise_prefetch_rule,
         cheaper_step_rule, faster_storage_rule, "cold-pages", "slow-sample", "variable-cost",
         "exposed-copies", "smaller-transfer", "noisy-loader", "gpu-memory-free"}},
    Contradiction{
        "cpu-shared", {raise_threads_rule, cheaper_step_rule, "noisy-loader"}, Severity::warning},
    Contradiction{"chunk-shape",
                  {raise_threads_rule, raise_io_rule, raise_prefetch_rule, cheaper_step_rule,
                   faster_storage_rule, "cold-pages"}},
    Contradiction{"cold-pages", {faster_storage_rule, raise_io_rule}},
    Contradiction{"slow-sample", {raise_threads_rule, raise_prefetch_rule, "variable-cost"}},
    Contradiction{"noisy-loader", {raise_threads_rule, "launch-gaps", "gpu-memory-free"}},
    Contradiction{"launch-gaps", {"gpu-memory-free"}},
    Contradiction{"gpu-nearly-full", {"gpu-memory-free"}},
    Contradiction{"straggler", {"launch-gaps"}},
    // It says the same, and what of it is felt.
    Contradiction{"exposed-copies", {"locked-limit"}}};

bool is_there(const std::vector<Advice>& all, const Contradiction& one) {
  const auto found = std::ranges::find(all, one.fundamental, &Advice::rule);
  return found != all.end() && found->severity >= one.from;
}

/// Leaves out what a more fundamental advice of the same window contradicts or makes pointless.
void drop_contradicted(std::vector<Advice>& all) {
  for (const Contradiction& one : contradictions) {
    if (!is_there(all, one)) continue;
    std::erase_if(all, [&](const Advice& advice) {
      return std::ranges::find(one.others, advice.rule) != one.others.end();
    });
  }
}

}  // namespace
}  // namespace headrace::inline v1::monitor::detail

namespace headrace::inline v1::monitor {
namespace {

// A GPU that the run neither wants nor uses is no fact of it.
RunFacts of_the_run(RunFacts facts) {
  if (facts.gpu && !facts.gpu_wanted && !facts.gpu->our_context) facts.gpu.reset();
  return facts;
}

std::vector<Advice> all_that_hold(const RunFacts& facts, const AdviceThresholds& thresholds) {
  std::vector<Advice> all;
  for (const AdviceRule& rule : advice_rules()) {
    if (auto advice = rule.look(facts, thresholds)) {
      advice->number = rule.number;
      all.push_back(std::move(*advice));
    }
  }
  return all;
}

// `explained`: the idle GPU is, by what is not yet said.
void finish(const RunFacts& facts, const AdviceThresholds& thresholds, bool explained,
            std::vector<Advice>& all) {
  detail::drop_contradicted(all);
  detail::explain_starved_gpu(facts, thresholds, explained, all);
  std::ranges::stable_sort(all, [](const Advice& a, const Advice& b) {
    return std::pair(a.severity, a.weight) > std::pair(b.severity, b.weight);
  });
}

}  // namespace

std::vector<Advice> advise(const RunFacts& window, const AdviceThresholds& thresholds) {
  const RunFacts facts = of_the_run(window);
  std::vector<Advice> all = all_that_hold(facts, thresholds);
  finish(facts, thresholds, false, all);
  return all;
}

Adviser::Adviser(const AdviceThresholds& thresholds) : thresholds_(thresholds) {}

void Adviser::begin_stage() {
  Adviser next(thresholds_);
  next.said_ = std::move(said_);
  *this = std::move(next);
}

std::vector<Advice> Adviser::look(const RunFacts& window) {
  RunFacts facts = of_the_run(window);
  if (facts.gpu) {
    facts.gpu->busy_before = std::max(facts.gpu->busy_before, best_busy_);
    best_busy_ = std::max(best_busy_, facts.gpu->busy_share);
  }
  std::vector<Advice> all = all_that_hold(facts, thresholds_);
  std::map<int, int> now;
  for (const Advice& advice : all)
    now[advice.number] = in_a_row_[advice.number] + 1;
  in_a_row_ = std::move(now);
  const bool explained = detail::explains_starved_gpu(facts, thresholds_, all);
  // Before contradictions: what is not yet said contradicts nothing.
  std::erase_if(all, [&](const Advice& advice) {
    const AdviceRule& rule = advice_rules()[static_cast<std::size_t>(advice.number - 1)];
    return in_a_row_[advice.number] < rule.patience;
  });
  finish(facts, thresholds_, explained, all);
  std::erase_if(all, [&](const Advice& advice) { return !said_.should_say(advice); });
  return all;
}

}  // namespace headrace::inline v1::monitor
