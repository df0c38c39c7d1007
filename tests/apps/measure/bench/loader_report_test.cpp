// From what a bench has counted to what it says: in a report, and as JSON.
#include <headrace/apps/measure/bench/loader_trial.h>
#include <headrace/monitor/stage_load.h>
#include <headrace/tests/apps/text_checks.h>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace headrace;
using test::contains;

constexpr int rows_of_batch = 512;
constexpr int bench_batches = 60;

struct SlowStage {
  const char* stage = "consumer";
  StageStats::Place place = StageStats::Place::worker;
  double sample_s = 0.0;  // of the transfer a batch's share
};

// A bench on two workers and four I/O threads whose consumer takes `step_s` a batch; all stages but
// the slow one take a microsecond a sample.
app::LoaderTrial bench_trial_with(const SlowStage& slow, double step_s) {
  app::LoaderTrial trial;
  trial.batches = bench_batches;
  trial.samples = bench_batches * rows_of_batch;
  trial.stats.samples = trial.samples;
  trial.stats.batches = bench_batches;
  trial.stats.threads = 2;
  trial.stats.io_threads = 4;
  trial.stats.slabs = 6;
  double batch_s = step_s;
  using enum StageStats::Place;
  for (const SlowStage& one : {SlowStage{"read", io}, SlowStage{"decode"}, SlowStage{"augment"},
                               SlowStage{"transfer", transfer}}) {
    const double sample_s = std::string(slow.stage) == one.stage ? slow.sample_s : 1e-6;
    const int parallel = one.place == io ? 4 : one.place == worker ? 2 : 1;
    trial.stats.stages.push_back({.name = std::string(one.stage) + " delay",
                                  .role = one.stage,
                                  .place = one.place,
                                  .items = one.place == transfer ? bench_batches : trial.samples,
                                  .busy_s = sample_s * static_cast<double>(trial.samples),
                                  .service = {}});
    batch_s = std::max(batch_s, rows_of_batch * sample_s / parallel);
  }
  trial.elapsed_s = bench_batches * batch_s;
  trial.wait_s = bench_batches * (batch_s - step_s);
  trial.stats.wait.total_s = trial.wait_s;
  trial.stats.step.total_s = trial.elapsed_s - trial.wait_s;
  trial.verdict = monitor::judge(monitor::loader_load(trial.stats),
                                 {.usable_cores = 8, .process_cpu_share = 0.05});
  return trial;
}

}  // namespace

TEST_CASE("the stage that is slow is named in a bench's report and JSON, with advice") {
  using enum StageStats::Place;
  const app::LoaderTrialOptions options{.step_s = 0.005};
  for (const SlowStage& slow :
       {SlowStage{"read", io, 200e-6}, SlowStage{"decode", worker, 200e-6},
        SlowStage{"augment", worker, 200e-6}, SlowStage{"transfer", transfer, 80e-6}}) {
    CAPTURE(slow.stage);
    const app::LoaderTrial trial = bench_trial_with(slow, options.step_s);
    const auto verdict = nlohmann::json::parse(to_json(trial, options, "table.yaml")).at("verdict");
    CHECK(verdict.at("stage") == slow.stage);
    REQUIRE(verdict.contains("advice"));
    const auto& advice = verdict.at("advice");
    CHECK(contains(advice.at("verdict").get<std::string>(), slow.stage));
    CHECK(advice.at("evidence").size() >= 3);
    const std::string report = loader_report(trial, options);
    CHECK(contains(report, std::string(slow.stage) + " delay holds the loader back; "));
    CHECK(contains(report, "\nwarning · " + trial.verdict.advice->line() + '\n'));
  }
}

TEST_CASE("a consumer that sets the pace of a bench is advised of nothing") {
  const app::LoaderTrialOptions options{.step_s = 0.025};
  const app::LoaderTrial trial = bench_trial_with({}, options.step_s);
  const auto verdict = nlohmann::json::parse(to_json(trial, options, "table.yaml")).at("verdict");
  CHECK(verdict.at("stage") == "consumer");
  CHECK_FALSE(verdict.contains("advice"));
  const std::string report = loader_report(trial, options);
  CHECK(contains(report, "the consumer sets the pace"));
  CHECK_FALSE(contains(report, " · "));
}
