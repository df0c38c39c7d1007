#include <headrace/monitor/advice_rules.h>
#include <headrace/monitor/adviser.h>
#include <headrace/monitor/detail/contradictions.h>
#include <headrace/monitor/detail/starved_gpu.h>

#include <algorithm>
#include <functional>
#include <utility>

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
