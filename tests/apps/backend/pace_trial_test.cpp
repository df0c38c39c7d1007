#include <headrace/apps/backend/pace_trial.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/synthetic/synthetic.h>

#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::monitor::StepTimes;

constexpr StepTimes step{.wall_s = 0.125, .data_wait_s = 0.025, .compute_s = 0.0875};

/// Steps until the window has enough, of 8 samples each.
int steps_of(app::PaceWindow& window, int most = 10'000) {
  for (int i = 1; i <= most; ++i)
    if (window.add(step, 8)) return i;
  return 0;
}

headrace::Loader loader_of(std::int64_t rows) {
  return headrace::Pipeline::from(headrace::SyntheticSource({.rows = rows}))
      .batch({.size = 4, .tail = headrace::Tail::drop})
      .build();
}

}  // namespace

TEST_CASE("a window leaves the warm-up out and its parts sum to its wall time") {
  app::PaceWindow window({.seconds = 5.0, .least_steps = 20}, 4, false);
  CHECK(steps_of(window) == 8 + 40);  // a fifth of the seconds, and the seconds
  app::PaceResult result{.stage = "train"};
  window.finish(result);
  CHECK(result.budget.steps == 40);
  CHECK(result.budget.skipped_steps == 8);
  CHECK(result.samples == 40 * 8);
  CHECK(result.budget.sum_error() < 1e-9);
  CHECK(result.step_s() == doctest::Approx(0.125));
  CHECK(result.samples_per_s() == doctest::Approx(64.0));
  CHECK(result.budget.data_stall_fraction() == doctest::Approx(0.2));
}

TEST_CASE("a window of few slow steps grows to three times its seconds and no more") {
  app::PaceWindow few({.seconds = 1.0, .least_steps = 20}, 2, false);
  CHECK(steps_of(few) == 2 + 20);
  app::PaceWindow many({.seconds = 1.0, .least_steps = 1000}, 2, false);
  CHECK(steps_of(many) == 2 + 24);
}

TEST_CASE("a warm-up of more steps than there is time for ends with the trial's seconds") {
  app::PaceWindow window({.seconds = 1.0, .least_steps = 5}, 1000, false);
  CHECK(steps_of(window) == 8 + 8);
}

TEST_CASE("a trial that ended inside its warm-up counts all but its first step") {
  app::PaceWindow window({.seconds = 5.0, .least_steps = 20}, 10, false);
  CHECK(steps_of(window, 4) == 0);
  app::PaceResult result{.stage = "train"};
  window.finish(result);
  CHECK(result.budget.steps == 3);
  CHECK(result.budget.warmup_cut_short);
  CHECK(result.samples == 3 * 8);
}

TEST_CASE("a trial without a step has no pace") {
  app::PaceWindow window({}, 10, false);
  app::PaceResult result;
  window.finish(result);
  CHECK(result.samples_per_s() == 0.0);
  CHECK(result.step_s() == 0.0);
  CHECK(result.verdict().bound == headrace::monitor::InputBound::cannot_tell);
}

TEST_CASE("the statistics of a loader begin with the window") {
  headrace::Loader loader = loader_of(400);
  app::PaceWindow window({.seconds = 0.5, .least_steps = 1}, 3, false);
  window.watch(&loader);
  int steps = 0;
  for (bool enough = false; !enough; ++steps) {
    REQUIRE(loader.next().status == headrace::NextBatch::Status::ready);
    enough = window.add(step, 4);
  }
  app::PaceResult result;
  window.finish(result);
  CHECK(steps == 3 + 4);
  CHECK(result.stats.batches == 4);
  CHECK(result.samples_per_epoch == 400);
  CHECK(result.first_batch_s > 0.0);
  CHECK(result.peak_held > 0);
}

TEST_CASE("warming up takes a whole epoch where there is time, else as much as it may") {
  headrace::Loader loader = loader_of(40);
  CHECK(app::warm_up(loader, {.seconds = 60.0}, 5) == std::nullopt);
  headrace::Loader other = loader_of(40'000);
  const auto taken = app::warm_up(other, {.seconds = 0.0}, 0);
  REQUIRE(taken.has_value());
  CHECK(*taken < 10'000);
}

TEST_CASE("a pace is read back as it was written") {
  app::PaceResult result{.input = app::PaceInput::storage,
                         .stage = "train",
                         .samples = 640,
                         .samples_per_epoch = 1000,
                         .window_s = 2.5,
                         .cores = 3,
                         .process_share = 0.25,
                         .threads = headrace::monitor::LoaderThreadTimes{.workers = {.cpu_s = 1.5},
                                                                         .io = {.queued_s = 0.125}},
                         .io_pressure = 0.5,
                         .machine_share = 0.75,
                         .read_from_disk_per_s = 2e6,
                         .others = {{.pid = 4711, .name = "hog", .cores = 1.5}},
                         .gpu = headrace::monitor::GpuFacts{.name = "card", .busy_share = 0.2},
                         .open_files = 12,
                         .cold = true,
                         .storage = "1 MiB of 1 files dropped",
                         .failed = "the trial ended with 4",
                         .without_resources = true};
  result.budget = {.steps = 20, .wall_s = 2.0, .data_wait_s = 0.5, .compute_s = 1.5};
  result.stats.stages.push_back({.name = "mel",
                                 .role = "decode",
                                 .place = headrace::StageStats::Place::io,
                                 .items = 640,
                                 .busy_s = 1.5,
                                 .service = {.count = 640}});
  result.stats.threads = 2;
  const std::string text = app::to_json(result);
  const app::PaceResult read = app::parse_pace_result(text);
  CHECK(app::to_json(read) == text);
  CHECK(read.input == app::PaceInput::storage);
  CHECK(read.io_pressure == 0.5);
  CHECK(read.others.at(0).pid == 4711);
  CHECK(read.others.at(0).cores == 1.5);
  CHECK(read.open_files == 12);
  REQUIRE(read.gpu);
  CHECK(read.gpu->busy_share == 0.2);
  CHECK(read.machine().io_pressure == 0.5);
  REQUIRE(read.threads.has_value());
  CHECK(read.threads->workers.cpu_s == 1.5);
  CHECK(read.threads->io.queued_s == 0.125);
  CHECK(read.stats.stages.at(0).place == headrace::StageStats::Place::io);
  CHECK(read.samples_per_s() == doctest::Approx(320.0));
  CHECK_THROWS_AS(app::parse_pace_result("{}"), headrace::ConfigError);
  CHECK_THROWS_AS(app::parse_pace_result("no"), headrace::ConfigError);
}
