#include <headrace/tests/engine/planted_delays.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

const StageStats& stage(const LoaderStats& stats, const std::string& name) {
  const auto found = std::find_if(stats.stages.begin(), stats.stages.end(),
                                  [&name](const StageStats& one) { return one.name == name; });
  REQUIRE_MESSAGE(found != stats.stages.end(), name);
  return *found;
}

/// A reference into a temporary would dangle.
const StageStats& stage(LoaderStats&&, const std::string&) = delete;

/// Of seconds that were added up in another order.
constexpr double rounding_s = 1e-6;

double busy_at(const LoaderStats& stats, StageStats::Place place) {
  double sum = 0;
  for (const StageStats& one : stats.stages)
    if (one.place == place) sum += one.busy_s;
  return sum;
}

using Clock = std::chrono::steady_clock;

double seconds_of(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// Whether every slab is ready or on loan. As nobody gives one back meanwhile, that stays.
bool is_full(const Loader& loader) {
  const double before = loader.stats().room_wait_s;
  return loader.stats().room_wait_s > before;
}

}  // namespace

TEST_CASE("the counts add up: samples, batches, bytes, items of every stage") {
  Watchdog watchdog("counts");
  for (bool fuse : {true, false}) {
    for (bool gathers : {true, false}) {
      for (bool blocking : {true, false}) {
        Loader loader =
            work_on(table({.records = 100, .gathers = gathers, .blocking = blocking}), true)
                .named("train")
                .batch({.size = 8})
                .then([](Batch&) {}, {.name = "mix"})
                .build({.fuse = fuse,
                        .join_epochs = false,
                        .runtime = Runtime({.threads = 2, .io_threads = 3})});
        stream_of(loader, 0, 2);
        const LoaderStats stats = loader.stats();
        CAPTURE(fuse);
        CAPTURE(gathers);
        CAPTURE(blocking);
        CHECK(stats.loader == "train");
        CHECK(stats.batches == 26);
        CHECK(stats.samples == 200);
        CHECK(stats.bytes == 200 * (8 + 16 + 8));
        CHECK(stats.threads == 2);
        CHECK(stats.io_threads == 3);
        CHECK(stats.bad_samples == 0);
        CHECK(stats.slabs >= 4);
        CHECK(stats.slabs_on_loan <= stats.slabs);
        CHECK(stats.elapsed_s > 0);
        CHECK(stats.first_batch_s > 0);
        CHECK(stats.wait.count >= 26);
        for (const char* name : {"read", "decode", "sum", "jitter"}) {
          CAPTURE(name);
          CHECK(stage(stats, name).items == 200);
          CHECK(stage(stats, name).busy_s > 0);
          CHECK(stage(stats, name).failures == 0);
        }
        CHECK(stage(stats, "decode").role == "decode");
        CHECK(stage(stats, "sum").role == "augment");
        CHECK(stage(stats, "read").role == "read");
        CHECK(stage(stats, "read").place ==
              (blocking ? StageStats::Place::io : StageStats::Place::worker));
        CHECK(std::any_of(stats.stages.begin(), stats.stages.end(), [](const StageStats& one) {
          return one.role == "transfer" && one.items == 26;
        }));
      }
    }
  }
}

TEST_CASE("a reset starts all counts anew") {
  Watchdog watchdog("reset");
  Loader loader = work_on(table({.records = 100}), true)
                      .batch({.size = 10})
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  stream_of(loader, 0, 1);
  loader.reset_stats();
  CHECK(loader.stats().samples == 0);
  CHECK(loader.stats().batches == 0);
  CHECK(loader.stats().wait.count == 0);
  for (const StageStats& one : loader.stats().stages)
    CHECK(one.items == 0);
  stream_of(loader, 1, 1);
  CHECK(loader.stats().samples == 100);
  CHECK(loader.stats().batches == 10);
}

TEST_CASE("service time is that of one item") {
  Watchdog watchdog("service time");
  for (bool fuse : {true, false}) {
    Loader loader =
        Pipeline::from(table({.records = 64}))
            .then([](Sample&) { std::this_thread::sleep_for(1ms); }, {.name = "slow"})
            .then(Sum{})
            .batch({.size = 8})
            .build({.fuse = fuse, .join_epochs = false, .runtime = Runtime({.threads = 2})});
    stream_of(loader, 0, 1);
    const LoaderStats stats = loader.stats();
    const StageStats& slow = stage(stats, "slow");
    CHECK(slow.items == 64);
    CHECK(slow.busy_s >= 0.064);
    CHECK(slow.service.count == 64);
    CHECK(slow.service.total_s >= 0.064);
    CHECK(slow.service.total_s <= slow.busy_s + rounding_s);
    CHECK(slow.service.p50_s > 0.0008);
    // Half of the items take as long; buckets are a quarter wide.
    CHECK(32 * slow.service.p50_s <= 1.25 * slow.service.total_s);
    CHECK(slow.service.p99_s >= slow.service.p50_s);
    CHECK(slow.service.max_s >= 0.001);
    CHECK(busy_at(stats, StageStats::Place::worker) <= 2 * stats.elapsed_s + rounding_s);
  }
}

TEST_CASE("time that is planted in a stage is that stage's") {
  Watchdog watchdog("planted time");
  for (bool fuse : {true, false}) {
    CAPTURE(fuse);
    const auto check = [fuse](const std::string& name, const Delays& delays,
                              const TableOptions& options) {
      CAPTURE(name);
      const LoaderStats stats = run_with(delays, options, fuse);
      CHECK(stage(stats, name).busy_s >= 0.160);
      CHECK(busy_at(stats, StageStats::Place::worker) <=
            stats.threads * stats.elapsed_s + rounding_s);
      CHECK(busy_at(stats, StageStats::Place::io) <=
            stats.io_threads * stats.elapsed_s + rounding_s);
    };
    for (bool gathers : {false, true}) {
      const TableOptions options{.records = 160, .gathers = gathers};
      check("read", {.read = 1ms}, options);
      check("decode", {.decode = 1ms}, options);
      check("paint", {.augment = 1ms}, options);
    }
    check("read", {.read = 1ms}, {.records = 160, .blocking = true});
    check("decode", {.decode = 1ms}, {.records = 160, .blocking = true});
    check("mix", {.batch = 8ms}, {.records = 160});
  }
}

TEST_CASE("the trainer's waits and steps are all of its time, and each has its own") {
  Watchdog watchdog("waits and steps");
  Loader loader =
      Pipeline::from(table({.records = 40}, [](std::int64_t) { std::this_thread::sleep_for(2ms); }))
          .batch({.size = 4})
          .build({.join_epochs = false, .runtime = Runtime({.threads = 1})});
  Clock::duration in_next{0};
  Clock::duration between{0};
  Clock::time_point returned;
  for (int batch = 0; batch < 10; ++batch) {
    const Clock::time_point called = Clock::now();
    if (batch > 0) between += called - returned;
    REQUIRE(loader.next().status == NextBatch::Status::ready);
    returned = Clock::now();
    in_next += returned - called;
  }
  const LoaderStats stats = loader.stats();
  CHECK(stats.wait.count == 10);
  CHECK(stats.step.count == 9);
  CHECK(stats.wait.total_s <= seconds_of(in_next) + rounding_s);
  CHECK(stats.step.total_s >= seconds_of(between) - rounding_s);
  const double in_all = stats.wait.total_s + stats.step.total_s;
  CHECK(in_all >= 0.080);  // the only thread's
  CHECK(in_all <= seconds_of(in_next + between) + rounding_s);
}

TEST_CASE(
    "while the trainer holds a batch of a full loader, batches are ready and room is lacked") {
  Watchdog watchdog("a full loader");
  Loader loader = Pipeline::from(table({.records = 80}))
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = 2})});
  double held = 0;
  double held_before_last = 0;
  for (Batch& batch : loader.epoch(0)) {
    CHECK(batch.size() == 4);
    REQUIRE(eventually([&loader] { return is_full(loader); }));
    const Clock::time_point begun = Clock::now();
    std::this_thread::sleep_for(3ms);
    held_before_last = held;
    held += seconds_of(Clock::now() - begun);
  }
  const LoaderStats stats = loader.stats();
  CHECK(stats.step.total_s >= held_before_last - rounding_s);
  CHECK(stats.step.p50_s > 0.0025);
  CHECK(stats.room_wait_s >= held - rounding_s);
  CHECK(stats.full_share * stats.elapsed_s >= held - rounding_s);
  CHECK(stats.readiness * stats.elapsed_s >= held - rounding_s);
  CHECK(stats.ready_depth * stats.elapsed_s >= (stats.slabs - 1) * held - rounding_s);
}

TEST_CASE("loans are counted while they last") {
  Watchdog watchdog("loans in the statistics");
  Loader loader = work_on(table({.records = 100}), false)
                      .batch({.size = 8})
                      .build({.loans = 2, .runtime = Runtime({.threads = 2})});
  CHECK(loader.stats().slabs_on_loan == 0);
  {
    const NextBatch a = loader.next();
    CHECK(loader.stats().slabs_on_loan == 1);
    const NextBatch b = loader.next();
    CHECK(loader.stats().slabs_on_loan == 2);
  }
  CHECK(loader.stats().slabs_on_loan == 0);
}

TEST_CASE("statistics can be switched off, and nothing else changes") {
  Watchdog watchdog("no statistics");
  const Runtime runtime({.threads = 2});
  auto deliver = [&runtime](bool statistics) {
    Loader loader = work_on(table({.records = 100}), true)
                        .batch({.size = 8})
                        .build({.statistics = statistics, .runtime = runtime});
    return stream_of(loader, 0, 2).batches;
  };
  CHECK(same(deliver(true), deliver(false)));
}
