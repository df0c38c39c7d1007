// What a change promises, from work that is a formula.
#include <headrace/apps/measure/tune/pace_model.h>

#include <algorithm>
#include <cstdint>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::StageStats;
using headrace::monitor::StageRole;

constexpr std::int64_t samples = 1000;  // of the window, in batches of 10
constexpr double no_step = 1e-9;

/// What a sample needs, in seconds, and how many threads there are.
struct Work {
  double read_s = 0.0;  // on threads that read
  double decode_s = 0.0;
  double read_cpu_s = 0.0;
  double decode_cpu_s = 0.0;
  double queued_s = 0.0;    // of decode_s: no core was free
  double longest_s = 0.0;   // decode of one sample
  double step_s = no_step;  // asleep
  double rest_cpu_s = 0.0;
  double lost_s = 0.0;  // waited beyond what the slowest explains
  int threads = 1;
  int io_threads = 1;
};

StageStats stage_of(const char* name, StageStats::Place place, double service_s) {
  StageStats stage;
  stage.name = stage.role = name;
  stage.place = place;
  stage.items = samples;
  stage.busy_s = samples * service_s;
  return stage;
}

app::PaceResult pace_of(const Work& work, int cores = 2) {
  app::PaceResult pace{.samples = samples, .cores = static_cast<unsigned>(cores)};
  const double cpu_s = work.read_cpu_s + work.decode_cpu_s + work.rest_cpu_s;
  const double slowest_s = std::max(
      {work.step_s, work.decode_s / work.threads, work.read_s / work.io_threads, cpu_s / cores});
  const double wall_s = samples * (slowest_s + work.lost_s);
  const double busy_s = samples * work.step_s;
  pace.budget = {
      .steps = 100, .wall_s = wall_s, .data_wait_s = wall_s - busy_s, .compute_s = busy_s};
  pace.process_cores = samples * cpu_s / wall_s;
  pace.process_share = pace.process_cores / cores;
  pace.threads = headrace::monitor::LoaderThreadTimes{
      .workers = {.cpu_s = samples * work.decode_cpu_s, .queued_s = samples * work.queued_s},
      .io = {.cpu_s = samples * work.read_cpu_s}};
  headrace::LoaderStats& stats = pace.stats;
  stats.samples = samples;
  stats.batches = 100;
  stats.threads = work.threads;
  stats.io_threads = work.io_threads;
  stats.wait.total_s = pace.budget.data_wait_s;
  stats.step.total_s = busy_s;
  stats.stages.push_back(stage_of("read", StageStats::Place::io, work.read_s));
  stats.stages.push_back(stage_of("decode", StageStats::Place::worker, work.decode_s));
  stats.stages.back().service.max_s = work.longest_s;
  return pace;
}

double predicted(const Work& work, const app::PaceChange& change) {
  const app::PaceResult pace = pace_of(work);
  return app::PaceModel(pace, 0.0, 2).predict(change);
}

/// Of a step that takes 1 ms a sample and waits 9 ms for a batch of every ten.
app::PaceResult with_late_batches(const Work& work) {
  app::PaceResult pace = pace_of(work);
  pace.budget.long_wait_share = 0.1;
  pace.budget.wait_p99_s = 0.09;
  return pace;
}
constexpr Work late{.decode_s = 0.0002, .step_s = 0.001, .lost_s = 0.0009};

}  // namespace

TEST_CASE("time in which threads waited for a core is no work that more threads would share") {
  // Four threads on two cores: each waits as long as it works.
  const Work crowded{.decode_s = 0.004, .decode_cpu_s = 0.002, .queued_s = 0.002, .threads = 4};
  CHECK(predicted(crowded, {.threads = 2}) == doctest::Approx(1000.0));
  CHECK(predicted(crowded, {.threads = 8}) == doctest::Approx(1000.0));
  // Other programs have the cores and keep them.
  const Work beside_others{.decode_s = 0.004, .decode_cpu_s = 0.001, .queued_s = 0.003};
  CHECK(predicted(beside_others, {.threads = 2}) == doctest::Approx(2 / 0.004).epsilon(0.15));
  // Asleep for as long, they are missed.
  const Work asleep{.decode_s = 0.004, .decode_cpu_s = 0.002, .threads = 4};
  CHECK(predicted(asleep, {.threads = 2}) == doctest::Approx(500.0));
}

TEST_CASE("work that is spared leaves the cores all that it took of them") {
  const Work reads{.read_s = 0.002, .read_cpu_s = 0.002, .step_s = 0.0001};
  CHECK(predicted(reads, {.spared = {"read"}}) == doctest::Approx(10'000.0).epsilon(0.01));
  // Not what others take of them.
  const Work rest{.read_s = 0.002, .read_cpu_s = 0.002, .step_s = 0.0001, .rest_cpu_s = 0.0004};
  CHECK(predicted(rest, {.spared = {"read"}}) == doctest::Approx(5'000.0).epsilon(0.01));
  CHECK(predicted(rest, {.spared = {"decode"}}) == doctest::Approx(500.0).epsilon(0.01));
}

TEST_CASE("reads from memory are work of the cores, however many threads read") {
  const Work awake{.read_s = 0.001, .read_cpu_s = 0.001};
  CHECK(predicted(awake, {.io_threads = 16}) == doctest::Approx(2000.0));
  const Work asleep{.read_s = 0.001};
  CHECK(predicted(asleep, {.io_threads = 16}) == doctest::Approx(16'000.0));
}

TEST_CASE("cores on which threads without work look for some are free") {
  // Workers of whose CPU time a fifth is work; the rest of the process takes as much as that.
  Work idle{.read_s = 0.002, .decode_s = 0.0001, .decode_cpu_s = 0.0005, .rest_cpu_s = 0.0001};
  CHECK(predicted(idle, {.io_threads = 64}) == doctest::Approx(10'000.0));
  // The same time in stages is work.
  idle.decode_s = 0.0005;
  idle.threads = 8;
  CHECK(predicted(idle, {.io_threads = 64}) == doctest::Approx(2 / 0.0006));
}

TEST_CASE("what is lost between the reads is not lost where nothing is read") {
  const Work pauses{.read_s = 0.001, .read_cpu_s = 0.0001, .step_s = 0.0001, .lost_s = 0.0005};
  CHECK(predicted(pauses, {.spared = {"read"}}) == doctest::Approx(10'000.0).epsilon(0.01));
  CHECK(predicted(pauses, {.io_threads = 2}) == doctest::Approx(2000.0 / 1.5).epsilon(0.01));
}

TEST_CASE("what two that are as slow as each other lose is not lost where one is far behind") {
  const Work close{.read_s = 0.001, .decode_s = 0.001, .step_s = 0.0001, .lost_s = 0.0005};
  CHECK(predicted(close, {.spared = {"read", "decode"}}) ==
        doctest::Approx(10'000.0).epsilon(0.01));
  // They stay as close.
  CHECK(predicted(close, {.threads = 2, .io_threads = 2}) ==
        doctest::Approx(2000.0 / 1.5).epsilon(0.01));
}

TEST_CASE("batches that are ready hide a wait for as long as they last") {
  const app::PaceResult pace = with_late_batches(late);
  const app::PaceModel model(pace, 0.0, 2);
  CHECK(model.batches_in_long_wait() == 9);
  CHECK(model.predict({.more_ahead = 9}) == doctest::Approx(1000.0).epsilon(0.01));
  CHECK(model.predict({.more_ahead = 40}) == doctest::Approx(1000.0).epsilon(0.01));
  CHECK(model.predict({.more_ahead = 3}) == doctest::Approx(1.0 / 0.0016).epsilon(0.01));
}

TEST_CASE("batches that are ready do not help a pool that cannot keep up") {
  Work slow = late;
  slow.decode_s = 0.002;
  slow.lost_s = 0.0;
  const app::PaceResult pace = with_late_batches(slow);
  CHECK(app::PaceModel(pace, 0.0, 2).predict({.more_ahead = 40}) ==
        doctest::Approx(500.0).epsilon(0.01));
}

TEST_CASE("more threads do not shorten a wait for one sample") {
  Work one = late;
  one.longest_s = 0.1;
  const app::PaceResult pace = with_late_batches(one);
  CHECK(app::PaceModel(pace, 0.0, 2).predict({.threads = 2}) ==
        doctest::Approx(pace.samples_per_s()).epsilon(0.01));
  Work many = late;
  many.longest_s = 0.01;
  const app::PaceResult other = with_late_batches(many);
  CHECK(app::PaceModel(other, 0.0, 2).predict({.threads = 2}) > 1.2 * other.samples_per_s());
  // Nor is it there once that work is spared.
  CHECK(app::PaceModel(pace, 0.0, 2).predict({.spared = {"decode"}}) ==
        doctest::Approx(1000.0).epsilon(0.02));
}

TEST_CASE("a thread that has a core for all of its work does not sleep") {
  const auto sleeps = [](const Work& work) {
    const app::PaceResult pace = pace_of(work);
    return app::PaceModel(pace, 0.0, 2).sleeps(StageRole::worker);
  };
  // One of two cores, or none at hand for half of the time: it is awake.
  CHECK_FALSE(sleeps({.decode_s = 0.001, .decode_cpu_s = 0.001}));
  CHECK_FALSE(sleeps({.decode_s = 0.002, .decode_cpu_s = 0.001, .queued_s = 0.001}));
  CHECK(sleeps({.decode_s = 0.002, .decode_cpu_s = 0.001}));
}

TEST_CASE("without times of threads the CPU time is shared by all stages, but for the step's") {
  app::PaceResult pace = pace_of({.decode_s = 0.001, .decode_cpu_s = 0.001});
  pace.threads.reset();
  CHECK_FALSE(app::PaceModel(pace, 0.0, 2).sleeps(StageRole::worker));
  CHECK(app::PaceModel(pace, 0.0, 2).predict({.threads = 8}) == doctest::Approx(2000.0));
  // Of a training on the CPU it is the step that does not sleep.
  app::PaceResult training = pace_of({.decode_s = 0.001, .step_s = 0.001, .rest_cpu_s = 0.001});
  training.threads.reset();
  training.stage = "train";
  CHECK(app::PaceModel(training, 1000.0, 2).sleeps(StageRole::worker));
}
