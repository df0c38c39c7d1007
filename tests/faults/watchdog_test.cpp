#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <condition_variable>
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

constexpr std::int64_t records = 60;
constexpr std::int64_t stuck = 21;

/// A door that stays shut until somebody opens it.
class Door {
 public:
  void pass() {
    ++waiting_;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  int waiting() const { return waiting_; }
  void open() {
    {
      std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> waiting_{0};
  bool open_ = false;
};

/// What a watchdog has said.
class Reports {
 public:
  WatchdogOptions after(std::chrono::nanoseconds span) {
    return {.after = span, .action = [this](const HangReport& report) {
              std::lock_guard lock(mutex_);
              reports_.push_back(report);
            }};
  }
  std::vector<HangReport> all() const {
    std::lock_guard lock(mutex_);
    return reports_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<HangReport> reports_;
};

enum class Stage { read, gather, blocking_read, blocking_gather, step, limited, batch };

/// A pipeline in which record 21, or its batch, waits at the door.
Loader hanging(Stage stage, Door& door, const Runtime& runtime, WatchdogOptions watchdog) {
  const auto at = [stage, &door](Stage here, std::int64_t index) {
    if (stage == here && index == stuck) door.pass();
  };
  const bool gathers = stage == Stage::gather || stage == Stage::blocking_gather;
  auto source =
      table({.records = records,
             .gathers = gathers,
             .blocking = stage == Stage::blocking_read || stage == Stage::blocking_gather},
            [at](std::int64_t index) {
              for (Stage each :
                   {Stage::read, Stage::gather, Stage::blocking_read, Stage::blocking_gather})
                at(each, index);
            });
  Pipeline steps = Pipeline::from(source).named("hanging");
  if (!gathers) {
    steps = std::move(steps).then(
        [at](Sample& sample) {
          at(Stage::step, sample.origin().index);
          at(Stage::limited, sample.origin().index);
        },
        {.name = "paint", .limit = stage == Stage::limited ? 1 : 0});
  }
  return std::move(steps)
      .batch({.size = 8})
      .then(
          [at](Batch& batch) {
            for (std::int64_t index : indices_of(batch))
              at(Stage::batch, index);
          },
          {.name = "mix"})
      .build({.watchdog = std::move(watchdog), .runtime = runtime});
}

struct Place {
  Stage stage;
  const char* name;
  const char* thread;
};
constexpr Place places[] = {{Stage::read, "read", "headrace-"},
                            {Stage::gather, "read", "headrace-"},
                            {Stage::blocking_read, "read", "headrace-io-"},
                            {Stage::blocking_gather, "read", "headrace-io-"},
                            {Stage::step, "paint", "headrace-"},
                            {Stage::limited, "paint", "headrace-"},
                            {Stage::batch, "mix", "headrace-"}};

bool is_whole_block(Stage stage) {
  return stage == Stage::gather || stage == Stage::blocking_gather || stage == Stage::batch;
}

}  // namespace

TEST_CASE("a stage that never returns is named once, with its thread and the sample") {
  Watchdog watchdog("stages that never return", 120s);
  for (const Place& place : places) {
    CAPTURE(static_cast<int>(place.stage));
    Door door;
    Reports reports;
    {
      Loader loader = hanging(place.stage, door, Runtime({.threads = 2, .io_threads = 2}),
                              reports.after(250ms));
      std::jthread trainer([&] {
        std::int64_t rows = 0;
        for (Batch& batch : loader.epoch(0))
          rows += batch.size();
        CHECK(rows == records);
      });
      CHECK(eventually([&] { return !reports.all().empty(); }, 20s));
      std::this_thread::sleep_for(400ms);
      CHECK(reports.all().size() == 1);
      door.open();
    }
    const std::vector<HangReport> all = reports.all();
    REQUIRE_FALSE(all.empty());
    const HangReport& report = all.front();
    CHECK(report.loader == "hanging");
    CHECK(report.consumer_waits);
    CHECK(report.seconds >= 0.25);
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

namespace {

/// Its records' names are asked for through a function.
struct NamedSource final : TableSource {
  NamedSource(const TableOptions& options, Hook hook, std::function<void()> asked)
      : TableSource(options, std::move(hook)), on_name(std::move(asked)) {}
  std::string origin(std::int64_t index) const override {
    on_name();
    return TableSource::origin(index);
  }
  std::function<void()> on_name;
};

}  // namespace

TEST_CASE("a source that is asked for a name may take its time, while loaders come and go") {
  Watchdog watchdog("a slow origin()");
  const Runtime runtime({.threads = 2});
  Door stage;
  Door name;
  Reports reports;
  std::atomic<std::int64_t> inside{0};
  const auto rows = [&runtime] {
    std::int64_t count = 0;
    Loader other = Pipeline::from(table({.records = 16}))
                       .batch({.size = 8})
                       .build({.join_epochs = false, .runtime = runtime});
    for (Batch& batch : other.epoch(0))
      count += batch.size();
    return count;
  };
  const auto source = std::make_shared<const NamedSource>(
      TableOptions{.records = 8},
      [&](std::int64_t index) {
        if (index == 0) stage.pass();
      },
      [&] {
        inside = rows();
        name.pass();
      });
  Loader loader =
      Pipeline::from(source)
          .batch({.size = 8})
          .build({.join_epochs = false, .watchdog = reports.after(250ms), .runtime = runtime});
  std::jthread trainer([&] { CHECK(loader.next().status == NextBatch::Status::ready); });
  CHECK(eventually([&] { return name.waiting() > 0; }, 20s));
  CHECK(inside == 16);
  CHECK(rows() == 16);
  CHECK(reports.all().empty());
  name.open();
  CHECK(eventually([&] { return !reports.all().empty(); }, 20s));
  stage.open();
  trainer.join();
  REQUIRE_FALSE(reports.all().empty());
  CHECK(reports.all().front().stages.front().sample.file == "row-0");
}

TEST_CASE("a source lives for as long as it is asked for a name, whatever became of its loader") {
  Watchdog watchdog("a loader that ends while its source is asked");
  const Runtime runtime({.threads = 1});
  Door stage;
  Door name;
  Reports reports;
  auto source = std::make_shared<const NamedSource>(
      TableOptions{.records = 8}, [&](std::int64_t) { stage.pass(); }, [&] { name.pass(); });
  const std::weak_ptr<const NamedSource> seen = source;
  auto other = std::make_optional<Loader>(Pipeline::from(std::move(source))
                                              .batch({.size = 8})
                                              .build({.join_epochs = false, .runtime = runtime}));
  Loader watched =
      Pipeline::from(table({.records = 8}))
          .batch({.size = 8})
          .build({.join_epochs = false, .watchdog = reports.after(250ms), .runtime = runtime});
  CHECK(other->next(1ms).status == NextBatch::Status::timeout);
  std::jthread trainer([&] { CHECK(watched.next().status == NextBatch::Status::ready); });
  CHECK(eventually([&] { return name.waiting() > 0; }, 20s));
  stage.open();
  trainer.join();
  other.reset();
  CHECK_FALSE(seen.expired());
  name.open();
  CHECK(eventually([&] { return seen.expired(); }));
}

TEST_CASE("after a hang that ended the watchdog looks on") {
  Watchdog watchdog("two hangs");
  Door first;
  Door second;
  Reports reports;
  Loader loader =
      Pipeline::from(table({.records = records},
                           [&](std::int64_t index) {
                             if (index == 10) first.pass();
                             if (index == 40) second.pass();
                           }))
          .batch({.size = 8})
          .build({.watchdog = reports.after(250ms), .runtime = Runtime({.threads = 1})});
  std::jthread trainer([&] {
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.size() > 0);
  });
  CHECK(eventually([&] { return reports.all().size() == 1; }, 20s));
  first.open();
  CHECK(eventually([&] { return reports.all().size() == 2; }, 20s));
  second.open();
  trainer.join();
  CHECK(reports.all().back().stages.front().sample.index == 40);
}

TEST_CASE("a stage that is only slow does not set it off") {
  Watchdog watchdog("a slow stage");
  for (bool blocking : {false, true}) {
    Reports reports;
    std::int64_t rows = 0;
    Loader loader = Pipeline::from(table({.records = 14, .blocking = blocking},
                                         [](std::int64_t) { std::this_thread::sleep_for(100ms); }))
                        .batch({.size = 14})
                        .build({.join_epochs = false,
                                .watchdog = reports.after(1s),
                                .runtime = Runtime({.threads = 1, .io_threads = 1})});
    for (Batch& batch : loader.epoch(0))
      rows += batch.size();
    CHECK(rows == 14);
    CHECK(reports.all().empty());
  }
}

TEST_CASE("a trainer that sleeps does not set it off") {
  Watchdog watchdog("a trainer that sleeps");
  Reports reports;
  Loader loader =
      work_on(table({.records = records}), true)
          .batch({.size = 8})
          .build({.watchdog = reports.after(400ms), .runtime = Runtime({.threads = 2})});
  const NextBatch held = loader.next();
  CHECK(held.status == NextBatch::Status::ready);
  std::this_thread::sleep_for(1s);
  CHECK(reports.all().empty());
}

TEST_CASE(
    "a loader that another one keeps from the only worker does not set it off, and a hang "
    "there is named") {
  Watchdog watchdog("a loader beside another");
  const Runtime runtime({.threads = 1});
  Reports reports;
  Door door;
  Loader slow = Pipeline::from(table({.records = 40},
                                     [&](std::int64_t index) {
                                       if (index == 39) door.pass();
                                       std::this_thread::sleep_for(50ms);
                                     }))
                    .named("slow")
                    .batch({.size = 40})
                    .build({.join_epochs = false, .runtime = runtime});
  // More records to a batch than "slow" has: those that come in between cannot make one.
  Loader kept = work_on(table({.records = records}), true)
                    .named("kept")
                    .batch({.size = records})
                    .build({.watchdog = reports.after(1s), .runtime = runtime});
  CHECK(slow.next(1ms).status == NextBatch::Status::timeout);
  std::jthread trainer([&] { CHECK(kept.next().status == NextBatch::Status::ready); });
  CHECK(eventually([&] { return !reports.all().empty(); }, 20s));
  door.open();
  REQUIRE_FALSE(reports.all().empty());
  const HangReport report = reports.all().front();
  CHECK(report.loader == "kept");
  REQUIRE(report.stages.size() == 1);
  CHECK(report.stages.front().loader == "slow");
  CHECK(report.stages.front().sample.index == 39);
}

TEST_CASE("a loader that cannot end is reported too") {
  Watchdog watchdog("a loader that cannot end");
  Door door;
  Reports reports;
  std::optional<Loader> loader =
      hanging(Stage::blocking_read, door, Runtime({.threads = 2}), reports.after(250ms));
  CHECK(loader->next().status == NextBatch::Status::ready);
  CHECK(eventually([&] { return door.waiting() > 0; }));
  std::jthread ending([&] { loader.reset(); });
  CHECK(eventually([&] { return !reports.all().empty(); }, 20s));
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
  CHECK(eventually(warned, 20s));
  door.open();
}

TEST_CASE("a negative span is refused") {
  CHECK_THROWS_AS(Pipeline::from(table({})).batch({.size = 4}).build({.watchdog = {.after = -1s}}),
                  ConfigError);
}
