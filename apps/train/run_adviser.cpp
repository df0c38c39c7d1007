#include <headrace/apps/train/run_adviser.h>
#include <headrace/monitor/file_limits.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr const char* accuracy = "accuracy";

double left_s(const std::vector<double>& epoch_seconds, std::int64_t epochs_left) {
  if (epoch_seconds.empty()) return -1.0;
  const double mean = std::accumulate(epoch_seconds.begin(), epoch_seconds.end(), 0.0) /
                      static_cast<double>(epoch_seconds.size());
  return mean * static_cast<double>(epochs_left);
}

}  // namespace

std::optional<monitor::RunFacts::Learning> learning_facts(const EpochFacts& epoch) {
  const double reached = figure(epoch.validation, accuracy);
  if (!std::isfinite(reached)) return std::nullopt;
  std::int64_t all = 0;
  std::int64_t most = 0;
  for (const std::vector<std::int64_t>& row : epoch.confusion.counts) {
    const std::int64_t cases = std::accumulate(row.begin(), row.end(), std::int64_t{0});
    all += cases;
    most = std::max(most, cases);
  }
  if (all == 0) return std::nullopt;
  return monitor::RunFacts::Learning{
      .accuracy = reached,
      .majority = static_cast<double>(most) / static_cast<double>(all),
      .figure = accuracy};
}

void RunAdviser::begin_stage() {
  adviser_ = monitor::Adviser();
  of_phases_ = {};
  epoch_seconds_.clear();
}

void RunAdviser::on_phase(const PhaseFacts& phase, const monitor::MemoryJudge& judge) {
  of_phases_.limits = phase.limits;
  if (phase.phase != RunPhase::training) return;
  fill(of_phases_, phase.memory);
  of_phases_.tensor_growth = monitor::growth_facts(judge.tensor_growth());
  of_phases_.process_growth = monitor::growth_facts(judge.process_growth(), judge.owner());
}

monitor::RunFacts RunAdviser::facts_of(const AdvisedEpoch& epoch) {
  monitor::RunFacts facts = std::exchange(of_phases_, {});
  facts.epoch = epoch.epoch.epoch + 1;
  facts.epochs = epoch.epochs;
  facts.budget = epoch.budget;
  facts.verdict = epoch.verdict;
  fill(facts, epoch.stats);
  facts.machine = epoch.system.machine;
  facts.gpu = epoch.system.gpu;
  facts.gpu_wanted = options_.on_gpu;
  facts.settings = options_.settings;
  facts.files = monitor::read_file_limits();
  facts.learning = learning_facts(epoch.epoch);
  facts.seconds_left = left_s(epoch_seconds_, facts.epochs - facts.epoch);
  facts.epoch_seconds = epoch_seconds_;
  return facts;
}

std::vector<monitor::Advice> RunAdviser::on_epoch(const AdvisedEpoch& epoch) {
  epoch_seconds_.push_back(epoch.epoch.seconds);
  return adviser_.look(facts_of(epoch));
}

}  // namespace headrace::inline v1::app
