#include <headrace/engine/runtime/threads_at_work.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/faults/watchdog_reports.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t hanging_records = 60;
constexpr std::int64_t stuck = 21;

/// When records began and ended: on a busy machine a stage may stand still without waiting.
class Moments {
 public:
  using Clock = std::chrono::steady_clock;

  void see() {
    std::lock_guard lock(mutex_);
    seen_.push_back(Clock::now());
  }
  /// No stage of any of at most four threads took longer to follow the one before.
  Clock::duration longest() const {
    std::lock_guard lock(mutex_);
    Clock::duration most{0};
    for (std::size_t i = between; i < seen_.size(); ++i)
      most = std::max(most, seen_[i] - seen_[i - between]);
    return most;
  }

 private:
  // Each thread may be seen once more before it stands still, too.
  static constexpr std::size_t between = 5;

  mutable std::mutex mutex_;
  std::vector<Clock::time_point> seen_;
};

enum class HangStage { read, gather, blocking_read, blocking_gather, step, limited, batch };

/// A pipeline in which record 21, or its batch, waits at the door.
Loader hanging(HangStage stage, Door& door, Moments& moments, const Runtime& runtime,
               WatchdogOptions watchdog) {
  moments.see();
  const auto at = [stage, &door](HangStage here, std::int64_t index) {
    if (stage == here && index == stuck) door.pass();
  };
  const bool gathers = stage == HangStage::gather || stage == HangStage::blocking_gather;
  auto source =
      table({.records = hanging_records,
             .gathers = gathers,
             .blocking = stage == HangStage::blocking_read || stage == HangStage::blocking_gather},
            [at, &moments](std::int64_t index) {
              moments.see();
              for (HangStage each : {HangStage::read, HangStage::gather, HangStage::blocking_read,
                                     HangStage::blocking_gather})
                at(each, index);
            });
  Pipeline steps = Pipeline::from(source).named("hanging");
  if (!gathers) {
    steps = std::move(steps).then(
        [at, &moments](Sample& sample) {
          moments.see();
          at(HangStage::step, sample.origin().index);
          at(HangStage::limited, sample.origin().index);
        },
        {.name = "paint", .limit = stage == HangStage::limited ? 1 : 0});
  }
  return std::move(steps)
      .batch({.size = 8})
      .then(
          [at, &moments](Batch& batch) {
            moments.see();
            for (std::int64_t index : indices_of(batch))
              at(HangStage::batch, index);
          },
          {.name = "mix"})
      .build({.watchdog = std::move(watchdog), .runtime = runtime});
}

struct Place {
  HangStage stage;
  const char* name;
  const char* thread;
};
constexpr Place places[] = {{HangStage::read, "read", "headrace-"},
                            {HangStage::gather, "read", "headrace-"},
                            {HangStage::blocking_read, "read", "headrace-io-"},
                            {HangStage::blocking_gather, "read", "headrace-io-"},
                            {HangStage::step, "paint", "headrace-"},
                            {HangStage::limited, "paint", "headrace-"},
                            {HangStage::batch, "mix", "headrace-"}};

bool is_whole_block(HangStage stage) {
  return stage == HangStage::gather || stage == HangStage::blocking_gather ||
         stage == HangStage::batch;
}

}  // namespace

TEST_CASE("a stage that never returns is named once, with its thread and the sample") {
  Watchdog watchdog("stages that never return");
  for (const Place& place : places) {
    CAPTURE(static_cast<int>(place.stage));
    Door door;
    Moments moments;
    Reports reports;
    std::vector<HangReport> all;
    bool others_stood_still = false;
    {
      Loader loader = hanging(place.stage, door, moments, Runtime({.threads = 2, .io_threads = 2}),
                              reports.after(500ms));
      std::jthread trainer([&] {
        std::int64_t rows = 0;
        for (Batch& batch : loader.epoch(0))
          rows += batch.size();
        CHECK(rows == hanging_records);
      });
      // On a busy machine other threads may have stood still before, which is told, too.
      CHECK(eventually([&] {
        all = reports.all();
        if (all.empty() || all.back().stages.size() != 1) return false;
        std::this_thread::sleep_for(800ms);
        return reports.all().size() == all.size();
      }));
      others_stood_still =
          moments.longest() >= 500ms || std::ranges::any_of(all, [](const HangReport& report) {
            return report.stages.size() != 1;
          });
      door.open();
    }
    REQUIRE_FALSE(all.empty());
    CHECK((all.size() == 1 || others_stood_still));
    const HangReport& report = all.back();
    CHECK(report.loader == "hanging");
    CHECK(report.consumer_waits);
    CHECK(report.seconds >= 0.5);
    REQUIRE(report.stages.size() == 1);
    const HangReport::InStage& in = report.stages.front();
    CHECK(in.stage == place.name);
    CHECK(in.thread.starts_with(place.thread));
    CHECK(in.loader == "hanging");
    CHECK(in.sample.batch == stuck / 8);
    if (!is_whole_block(place.stage)) {
      CHECK(in.sample.index == stuck);
      CHECK(in.sample.position == stuck);
      CHECK(in.sample.row == stuck % 8);
      CHECK(in.sample.file == "row-21");
      CHECK(to_string(report).find("row-21") != std::string::npos);
    }
    CHECK(to_string(report).find("\"" + std::string(place.name) + "\"") != std::string::npos);
  }
}

TEST_CASE("after a hang that ended the watchdog looks on") {
  Watchdog watchdog("two hangs");
  Door first;
  Door second;
  Moments before_first;
  Moments before_second;
  Reports reports;
  before_first.see();
  Loader loader =
      Pipeline::from(table({.records = hanging_records},
                           [&](std::int64_t index) {
                             (index <= 10 ? before_first : before_second).see();
                             if (index == 10) first.pass();
                             if (index == 40) second.pass();
                           }))
          .batch({.size = 8})
          .build({.watchdog = reports.after(250ms), .runtime = Runtime({.threads = 1})});
  std::jthread trainer([&] {
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.size() > 0);
  });
  CHECK(eventually([&] { return reports.name(10); }));
  before_second.see();
  first.open();
  CHECK(eventually([&] { return reports.name(40); }));
  const bool stood_still = std::max(before_first.longest(), before_second.longest()) >= 250ms;
  CHECK((reports.all().size() == 2 || stood_still));
  second.open();
  trainer.join();
}

TEST_CASE("a stage that is only slow does not set it off") {
  Watchdog watchdog("a slow stage");
  for (bool blocking : {false, true}) {
    Reports reports;
    Moments moments;
    std::int64_t rows = 0;
    Loader loader = Pipeline::from(table({.records = 14, .blocking = blocking},
                                         [&moments](std::int64_t) {
                                           moments.see();
                                           std::this_thread::sleep_for(100ms);
                                           moments.see();
                                         }))
                        .batch({.size = 14})
                        .build({.join_epochs = false,
                                .watchdog = reports.after(1s),
                                .runtime = Runtime({.threads = 1, .io_threads = 1})});
    moments.see();
    for (Batch& batch : loader.epoch(0)) {
      moments.see();
      rows += batch.size();
    }
    CHECK(rows == 14);
    CHECK((reports.all().empty() || moments.longest() >= 1s));
  }
}

TEST_CASE("a trainer that sleeps does not set it off") {
  Watchdog watchdog("a trainer that sleeps");
  Reports reports;
  const Runtime runtime({.threads = 2});
  Loader loader = work_on(table({.records = hanging_records}), true)
                      .batch({.size = 8})
                      .build({.watchdog = reports.after(400ms), .runtime = runtime});
  const NextBatch held = loader.next();
  CHECK(held.status == NextBatch::Status::ready);
  // Every slab is ready or held, and nobody works.
  REQUIRE(eventually(
      [&] { return loader.stats().room_wait_s > 0 && threads_at_work(runtime).empty(); }));
  reports.forget();
  std::this_thread::sleep_for(1s);
  CHECK(reports.all().empty());
}

TEST_CASE(
    "a loader that another one keeps from the only worker does not set it off, and a hang "
    "there is named") {
  Watchdog watchdog("a loader beside another");
  const Runtime runtime({.threads = 1});
  Reports reports;
  Moments moments;
  Door door;
  Loader slow = Pipeline::from(table({.records = 40},
                                     [&](std::int64_t index) {
                                       moments.see();
                                       if (index == 39) door.pass();
                                       std::this_thread::sleep_for(50ms);
                                       moments.see();
                                     }))
                    .named("slow")
                    .batch({.size = 40})
                    .build({.join_epochs = false, .runtime = runtime});
  // More records to a batch than "slow" has: those that come in between cannot make one.
  Loader kept = work_on(table({.records = hanging_records}), true)
                    .named("kept")
                    .batch({.size = hanging_records})
                    .build({.watchdog = reports.after(1s), .runtime = runtime});
  moments.see();
  CHECK(slow.next(1ms).status == NextBatch::Status::timeout);
  std::jthread trainer([&] { CHECK(kept.next().status == NextBatch::Status::ready); });
  CHECK(eventually([&] { return reports.name(39); }));
  const std::vector<HangReport> all = reports.all();
  const bool stood_still = moments.longest() >= 1s;
  door.open();
  REQUIRE_FALSE(all.empty());
  CHECK((all.size() == 1 || stood_still));
  const HangReport& report = all.back();
  CHECK(report.loader == "kept");
  REQUIRE(report.stages.size() == 1);
  CHECK(report.stages.front().loader == "slow");
  CHECK(report.stages.front().sample.index == 39);
}

TEST_CASE("a loader that cannot end is reported too") {
  Watchdog watchdog("a loader that cannot end");
  Door door;
  Moments moments;
  Reports reports;
  std::optional<Loader> loader = hanging(HangStage::blocking_read, door, moments,
                                         Runtime({.threads = 2}), reports.after(250ms));
  CHECK(loader->next().status == NextBatch::Status::ready);
  CHECK(eventually([&] { return door.waiting() > 0; }));
  std::jthread ending([&] { loader.reset(); });
  CHECK(eventually([&] { return !reports.all().empty(); }));
  door.open();
  ending.join();
}

TEST_CASE("without an action the report goes to the log") {
  Watchdog watchdog("the report in the log");
  Door door;
  std::mutex mutex;
  std::string warnings;
  Loader loader = Pipeline::from(table({.records = 8}, [&](std::int64_t) { door.pass(); }))
                      .batch({.size = 8})
                      .build({.watchdog = WatchdogOptions{.after = 50ms, .action = {}},
                              .runtime = Runtime({.threads = 1}),
                              .log = [&](LogLevel level, std::string_view line) {
                                std::lock_guard lock(mutex);
                                if (level == LogLevel::warning) warnings += line;
                              }});
  const auto warned = [&] {
    std::lock_guard lock(mutex);
    return warnings.find("no stage has finished anything") != std::string::npos;
  };
  CHECK(loader.next(1ms).status == NextBatch::Status::timeout);
  CHECK(eventually(warned));
  door.open();
}

TEST_CASE("a negative span is refused") {
  CHECK_THROWS_AS(Pipeline::from(table({})).batch({.size = 4}).build({.watchdog = {.after = -1s}}),
                  ConfigError);
}
