#pragma once

#include <headrace/monitor/advice/advice_rules.h>
#include <headrace/monitor/advice/run_facts.h>
#include <headrace/monitor/advice/verdict.h>

#include "memory_units.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

/// Facts of a run as it could be, for tests of advice.
namespace headrace::test {

using namespace headrace::monitor;

/// Pictures on 8 workers and 4 I/O threads for a GPU that takes 64 of them every 100 ms. Without a
/// change the input can do 1,569 samples/s of the 640 that are asked for.
struct Plan {
  double read_s = 0.001;
  double decode_s = 0.004;
  double augment_s = 0.001;
  double collate_s = 0.0001;
  double transfer_s = 0.0001;
  double step_s = 0.1;
  double gpu_busy = 0.95;
};

inline LoaderLoad load_of(const Plan& plan) {
  constexpr std::uint64_t n = 64 * 500;
  const auto stage = [&](const char* name, StageRole role, double service_s) {
    return StageLoad{.name = name, .role = role, .busy_s = service_s * n, .items = n};
  };
  const double workers_s = (plan.decode_s + plan.augment_s + plan.collate_s) / 8;
  const double sample_s = plan.step_s / 64;
  const double pace_s = std::max({plan.read_s / 4, workers_s, plan.transfer_s, sample_s});
  return {.elapsed_s = pace_s * n,
          .threads = 8,
          .io_threads = 4,
          .stages = {stage("read", StageRole::io, plan.read_s),
                     stage("decode", StageRole::worker, plan.decode_s),
                     stage("augment", StageRole::worker, plan.augment_s),
                     stage("collate", StageRole::worker, plan.collate_s),
                     stage("transfer", StageRole::transfer, plan.transfer_s)},
          .delivered = n,
          .consumer_wait_s = (pace_s - sample_s) * n,
          .ready_full_share = pace_s > sample_s ? 0.0 : 0.97,
          .slabs = 6};
}

inline void judge_again(RunFacts& facts) {
  facts.verdict = judge(facts.budget, facts.load, {.usable_cores = 16});
}

/// A window of 500 steps.
inline RunFacts window(const Plan& plan = {}) {
  RunFacts facts{.epoch = 3, .epochs = 10};
  facts.load = load_of(plan);
  const double wall_s = facts.load.elapsed_s;
  const double wait_s = facts.load.consumer_wait_s;
  facts.budget = {.steps = 500,
                  .on_gpu = true,
                  .wall_s = wall_s,
                  .data_wait_s = wait_s,
                  .copy_s = 0.004 * wall_s,
                  .compute_s = 0.98 * (wall_s - wait_s),
                  .wait_max_s = 0.4};
  facts.budget.other_s = wall_s - wait_s - facts.budget.copy_s - facts.budget.compute_s;
  facts.machine = MachineFacts{.samples = 50,
                               .cores = 16,
                               .machine_share = 0.32,
                               .process_share = 0.30,
                               .io_pressure = 0.01,
                               .memory_pressure = 0.0,
                               .read_per_s = 64e6,
                               .read_from_disk_per_s = 1e6,
                               .memory_room = 40 * gib};
  facts.gpu_wanted = true;
  facts.gpu = GpuFacts{.name = "card",
                       .busy_share = plan.gpu_busy,
                       .sm_active_share = 0.6,
                       .idle_samples_share = plan.gpu_busy < 0.3 ? 0.9 : 0.0,
                       .memory_total = 80 * gib,
                       .memory_peak = 60 * gib,
                       .temperature_c = 60.0,
                       .our_context = true};
  facts.settings = {.loader_threads = 8,
                    .io_threads = 4,
                    .torch_threads = 4,
                    .prefetch = 4,
                    .batch = 64,
                    .can_cache = true,
                    .data_bytes = 8 * gib,
                    .decoded_bytes = 30 * gib};
  facts.settings.device = "auto";
  facts.page_locked = true;
  facts.records = RecordFacts{.records = 32000, .batch = 64};
  facts.plan = PlanFacts{.forecast = 8 * gib, .limit = 64 * gib};
  facts.limits = {.process = 64 * gib, .gpu = 80 * gib};
  facts.allocator = RunFacts::Allocator{
      .reserved = 62 * gib, .allocated = 20 * gib, .inactive_split = gib, .peak = 60 * gib};
  facts.files = RunFacts::Files{.open = 40, .limit = 1024, .hard_limit = 4096, .needed = 200};
  facts.learning = RunFacts::Learning{.accuracy = 0.9, .majority = 0.3, .figure = "accuracy"};
  facts.epoch_seconds = {120.0, 60.0, 60.0};
  facts.seconds_left = 420.0;
  judge_again(facts);
  return facts;
}

/// The window with another share of waiting, whatever its stages say.
inline RunFacts with_stall(RunFacts facts, double share) {
  StepBudget& budget = facts.budget;
  budget.wall_s = 100.0;
  budget.data_wait_s = 100.0 * share;
  budget.copy_s = 0.4;
  budget.compute_s = 0.9 * (100.0 - budget.data_wait_s);
  budget.other_s = 100.0 - budget.data_wait_s - budget.copy_s - budget.compute_s;
  facts.load.elapsed_s = 100.0;
  facts.load.consumer_wait_s = budget.data_wait_s;
  facts.load.ready_full_share = 0.0;
  judge_again(facts);
  return facts;
}

inline const AdviceRule& rule(int number) {
  return advice_rules()[static_cast<std::size_t>(number - 1)];
}

inline std::optional<Advice> said(int number, const RunFacts& facts,
                                  const AdviceThresholds& thresholds = {}) {
  return rule(number).look(facts, thresholds);
}

inline bool speaks(int number, const RunFacts& facts) {
  return said(number, facts).has_value();
}

/// The advice, with all that an advice has.
inline Advice whole(int number, const RunFacts& facts) {
  const auto advice = said(number, facts);
  REQUIRE(advice);
  CAPTURE(advice->line());
  const auto& names = rule(number).names;
  CHECK(std::ranges::find(names, advice->rule) != names.end());
  CHECK(advice->severity <= rule(number).severity);
  CHECK(advice->evidence.size() >= 3);
  for (const Evidence& one : advice->evidence)
    CHECK_FALSE(one.shown.empty());
  CHECK_FALSE(advice->verdict.empty());
  CHECK_FALSE(advice->action.empty());
  CHECK(advice->effect.find_first_of("0123456789") != std::string::npos);
  CHECK_FALSE(advice->check.empty());
  if (number != 8) {
    CHECK_FALSE(advice->setting.empty());
    CHECK_FALSE(advice->old_value.empty());
    CHECK_FALSE(advice->new_value.empty());
    CHECK(advice->old_value != advice->new_value);
  }
  return *advice;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace headrace::test
