#include <headrace/monitor/advice/verdict.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::monitor;

namespace {

// A pipeline on 4 workers and 2 I/O threads that can do 2000 samples/s everywhere, and what its
// consumer sees: each stage takes `service_s` a sample, the consumer `step_s`.
struct PlannedRun {
  double read_s = 0.0002;
  double decode_s = 0.0008;
  double augment_s = 0.0006;
  double collate_s = 0.0002;
  double transfer_s = 0.0001;
  double step_s = 0.002;
};

LoaderLoad run(const PlannedRun& plan) {
  constexpr std::uint64_t n = 10000;
  const auto stage = [&](const char* name, StageRole role, double service_s) {
    return StageLoad{.name = name, .role = role, .busy_s = service_s * n, .items = n};
  };
  const double workers_s = (plan.decode_s + plan.augment_s + plan.collate_s) / 4;
  const double pace_s = std::max({plan.read_s / 2, workers_s, plan.transfer_s, plan.step_s});
  return {.elapsed_s = pace_s * n,
          .threads = 4,
          .io_threads = 2,
          .stages = {stage("read", StageRole::io, plan.read_s),
                     stage("decode", StageRole::worker, plan.decode_s),
                     stage("augment", StageRole::worker, plan.augment_s),
                     stage("collate", StageRole::worker, plan.collate_s),
                     stage("transfer", StageRole::transfer, plan.transfer_s)},
          .delivered = n,
          .consumer_wait_s = (pace_s - plan.step_s) * n,
          .ready_full_share = pace_s > plan.step_s ? 0.0 : 0.97};
}

LoaderLoad stalled(double fraction) {
  LoaderLoad load = run({});
  load.elapsed_s = 10.0;
  load.consumer_wait_s = fraction * 10.0;
  load.ready_full_share = 0.0;
  return load;
}

StepBudget budget_of(double wall_s, double wait_s, std::size_t steps = 100) {
  return {.steps = steps, .wall_s = wall_s, .data_wait_s = wait_s, .other_s = wall_s - wait_s};
}

}  // namespace

TEST_CASE("a delay planted in one stage makes exactly that stage the bottleneck") {
  struct Planted {
    const char* stage;
    PlannedRun plan;
  };
  const Planted planted[] = {{"read", {.read_s = 0.010}},         {"decode", {.decode_s = 0.020}},
                             {"augment", {.augment_s = 0.020}},   {"collate", {.collate_s = 0.020}},
                             {"transfer", {.transfer_s = 0.005}}, {"consumer", {.step_s = 0.020}}};
  for (const Planted& one : planted) {
    CAPTURE(one.stage);
    const Verdict verdict = judge(run(one.plan));
    CHECK(verdict.bottleneck == one.stage);
    CHECK(verdict.stage == one.stage);
    CHECK(verdict.sentence().find(one.stage) != std::string::npos);
  }
}

TEST_CASE("the same delays name the same stages when nobody consumes") {
  const std::pair<const char*, PlannedRun> planted[] = {
      {"read", {.read_s = 0.010, .step_s = 0.0}},
      {"decode", {.decode_s = 0.020, .step_s = 0.0}},
      {"augment", {.augment_s = 0.020, .step_s = 0.0}},
      {"transfer", {.transfer_s = 0.005, .step_s = 0.0}}};
  for (const auto& [stage, plan] : planted) {
    const Verdict verdict = judge(run(plan));
    CHECK(verdict.bottleneck == stage);
    CHECK(verdict.demand_per_s == 0.0);
    CHECK(verdict.sentence().starts_with("no consumer behind it"));
  }
}

TEST_CASE("a delay too small to matter names no stage") {
  const Verdict verdict = judge(run({.decode_s = 0.003, .step_s = 0.002}));
  CHECK(verdict.bottleneck == "consumer");
  CHECK(verdict.bound == InputBound::not_input_bound);
  CHECK_FALSE(verdict.advice.has_value());
}

TEST_CASE("below five per cent of waiting is not input-bound") {
  CHECK(judge(stalled(0.049)).bound == InputBound::not_input_bound);
}

TEST_CASE("five and twenty per cent of waiting are both moderately input-bound") {
  CHECK(judge(stalled(0.05)).bound == InputBound::moderately);
  CHECK(judge(stalled(0.20)).bound == InputBound::moderately);
}

TEST_CASE("more than twenty per cent of waiting is highly input-bound") {
  CHECK(judge(stalled(0.201)).bound == InputBound::highly);
}

TEST_CASE("the steps decide how much was waited, the load only for whom") {
  const Verdict verdict = judge(budget_of(10.0, 4.0), run({.decode_s = 0.020}));
  CHECK(verdict.data_stall_fraction == doctest::Approx(0.4));
  CHECK(verdict.bound == InputBound::highly);
  CHECK(verdict.bottleneck == "decode");
  CHECK(judge(budget_of(10.0, 0.1), run({.decode_s = 0.020})).bottleneck == "consumer");
}

TEST_CASE("short waits behind a full ready queue are bursts, not a slow stage") {
  LoaderLoad load = stalled(0.10);
  load.ready_full_share = 0.6;
  CHECK(judge(load).bottleneck == "consumer");
  CHECK(judge(load).sentence().find("bursts") != std::string::npos);
  load.ready_full_share = 0.4;
  CHECK(judge(load).bottleneck == "decode");
}

TEST_CASE("too few steps, clocks that disagree or nothing delivered give no verdict") {
  const LoaderLoad load = run({.decode_s = 0.020});
  CHECK(judge(budget_of(10.0, 4.0, 4), load).sentence() == "cannot tell: only 4 steps measured");
  CHECK(judge(budget_of(10.0, 4.0, 5), load).bound == InputBound::highly);

  StepBudget off = budget_of(10.0, 4.0);
  off.other_s += 0.3;
  CHECK(judge(off, load).sentence().starts_with("cannot tell: clocks disagree"));
  off.other_s -= 0.15;
  CHECK(judge(off, load).bound == InputBound::highly);

  StepBudget broken = budget_of(10.0, 4.0);
  broken.wall_s = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge(broken, load).bound == InputBound::cannot_tell);

  LoaderLoad nothing = load;
  nothing.delivered = 0;
  CHECK(judge(nothing).sentence() == "cannot tell: no sample was delivered");
  CHECK_FALSE(judge(nothing).advice.has_value());
}

TEST_CASE("the second slowest stage is named as the next one") {
  const Verdict verdict = judge(run({.read_s = 0.005, .decode_s = 0.020}));
  CHECK(verdict.bottleneck == "decode");
  CHECK(judge(run({.read_s = 0.020})).next == "decode");
}

TEST_CASE("a training run that is not held back says what the loader has in reserve") {
  const Verdict verdict = judge(run({.step_s = 0.004}));
  CHECK(verdict.headroom == doctest::Approx(10.0));
  CHECK(verdict.sentence() ==
        "not input-bound (data stall 0.0 %): the consumer sets the pace; 4 workers can do 2.50 k "
        "samples/s, 50 % of "
        "their work is decode, 10.0 times what is asked");
}

TEST_CASE("a verdict is one line of JSON with its evidence") {
  const std::string text = judge(run({.decode_s = 0.020}), {.usable_cores = 16}).json();
  CHECK(text.find('\n') == std::string::npos);
  const auto line = nlohmann::json::parse(text);
  CHECK(line["verdict"] == "highly input-bound");
  CHECK(line["bottleneck"] == "decode");
  CHECK(line["stages"].size() == 5);
  CHECK(line["advice"]["setting"] == "threads.loader");
}
