#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
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
    CHECK(slow.service.total_s >= 0.064);
    CHECK(slow.service.p50_s > 0.0008);
    CHECK(slow.service.p50_s < 0.020);
    CHECK(slow.service.p99_s >= slow.service.p50_s);
    CHECK(slow.service.max_s >= 0.001);
    CHECK(stage(stats, "sum").busy_s < slow.busy_s);
  }
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
