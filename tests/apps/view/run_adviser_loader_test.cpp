// From what an epoch's loader did to the rules of advice.
#include <headrace/apps/view/run_adviser.h>
#include <headrace/engine/base/literals.h>

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using app::RunAdviser;

TEST_CASE("the stage that an epoch's statistics show as slow is named with its key, and no other") {
  using enum StageStats::Place;
  struct Slow {
    StageStats stage;
    const char* rule;
    const char* setting;
    const char* old_value;
  };
  constexpr std::int64_t samples = 10'000;
  constexpr std::int64_t batches = 100;
  const Slow all[] = {{{.name = "read",
                        .role = "read",
                        .place = io,
                        .items = samples,
                        .busy_s = 39.0,
                        .service = {}},
                       "raise-io-threads",
                       "threads.io",
                       "4"},
                      {{.name = "decode delay",
                        .role = "decode",
                        .place = worker,
                        .items = samples,
                        .busy_s = 9.8,
                        .service = {}},
                       "raise-threads",
                       "threads.loader",
                       "1"},
                      {{.name = "augment delay",
                        .role = "augment",
                        .place = worker,
                        .items = samples,
                        .busy_s = 9.8,
                        .service = {}},
                       "raise-threads",
                       "threads.loader",
                       "1"},
                      {{.name = "transfer delay",
                        .role = "transfer",
                        .place = transfer,
                        .items = batches,
                        .busy_s = 9.8,
                        .service = {}},
                       "smaller-transfer",
                       "transfer delay time a sample",
                       ""}};
  const monitor::StepBudget budget{
      .steps = 100, .wall_s = 10.0, .data_wait_s = 8.0, .compute_s = 2.0};
  monitor::CpuUsage usage;
  usage.interval_s = 10.0;
  usage.process_share = 0.01;
  for (const Slow& slow : all) {
    CAPTURE(slow.stage.name);
    LoaderStats stats;
    stats.samples = samples;
    stats.batches = batches;
    stats.threads = 1;
    stats.io_threads = 4;
    stats.slabs = 4;
    stats.wait.total_s = 8.0;
    stats.step.total_s = 2.0;
    stats.stages = {slow.stage};
    const monitor::Verdict verdict = app::epoch_verdict(budget, stats, usage);
    CHECK(verdict.bottleneck == slow.stage.name);
    CHECK(verdict.bound == monitor::InputBound::highly);
    RunAdviser adviser({.settings = {.loader_threads = 1, .io_threads = 4}});
    adviser.begin_stage({.epochs = 10});
    const auto advice = adviser.on_epoch({.epoch = {.epoch = 0, .seconds = 10.0},
                                          .epochs = 10,
                                          .budget = budget,
                                          .verdict = verdict,
                                          .stats = stats,
                                          .system = {},
                                          .usage = usage});
    REQUIRE(advice.size() == 1);
    CHECK(advice.front().rule == slow.rule);
    CHECK(advice.front().setting == slow.setting);
    if (*slow.old_value != '\0') CHECK(advice.front().old_value == slow.old_value);
    CHECK(advice.front().verdict.find(slow.stage.name + " holds the loader back") !=
          std::string::npos);
    CHECK(advice.front().evidence.size() >= 3);
  }
}

TEST_CASE("a larger batch is no larger than an epoch has records") {
  RunAdviser adviser({.on_gpu = true, .settings = {.batch = 32}});
  adviser.begin_stage({.epochs = 10, .records = 500});
  const app::SystemWindow system{
      .machine = monitor::MachineFacts{.cores = 8},
      .gpu = monitor::GpuFacts{.busy_share = 0.5, .memory_total = 80 * 1024_MiB}};
  monitor::MemoryJudge judge;
  adviser.on_phase({.phase = app::RunPhase::training,
                    .memory = {.peak = 40_MiB, .reserved = 40_MiB, .on_gpu = true},
                    .limits = {.gpu = 80 * 1024_MiB}},
                   judge);
  std::string larger;
  for (const monitor::Advice& advice : adviser.on_epoch({.epoch = {.epoch = 0, .seconds = 10.0},
                                       .epochs = 10,
                                       .budget = {.steps = 100, .on_gpu = true, .wall_s = 10.0},
                                       .verdict = {.bound = monitor::InputBound::not_input_bound},
                                       .stats = {},
                                       .system = system}))
    if (advice.setting == "training.batch") larger = advice.new_value;
  CHECK(larger == "500");
}

TEST_CASE("the data's files are looked at once, where reads hold the run back, and never else") {
  int looks = 0;
  const auto cold_pages = [&](double data_stall) {
    RunAdviser adviser({.data_bytes = [&looks] {
      ++looks;
      return 10_MiB;
    }});
    adviser.begin_stage({.epochs = 10});
    const monitor::StageCapacity read{.name = "read", .role = monitor::StageRole::io};
    const monitor::Verdict verdict{.bound = monitor::InputBound::highly,
                                   .data_stall_fraction = data_stall,
                                   .bottleneck = "read",
                                   .stages = {read}};
    const app::SystemWindow system{.machine = monitor::MachineFacts{.read_per_s = 1e6,
                                                                    .read_from_disk_per_s = 1e6,
                                                                    .memory_room = 1024_MiB}};
    LoaderStats stats;
    stats.elapsed_s = 10.0;
    int said = 0;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch)
      for (const monitor::Advice& advice :
           adviser.on_epoch({.epoch = {.epoch = epoch, .seconds = 10.0},
           .epochs = 10,
           .budget = {.steps = 100, .wall_s = 10.0},
           .verdict = verdict,
           .stats = stats,
           .system = system}))
        said += advice.rule == "cold-pages" ? 1 : 0;
    return said;
  };
  CHECK(cold_pages(0.01) == 0);
  CHECK(looks == 0);
  CHECK(cold_pages(0.5) == 1);
  CHECK(looks == 1);
}
