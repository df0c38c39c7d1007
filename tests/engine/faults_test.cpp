#include <headrace/tests/engine/failure_of.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t mined_records = 50;
constexpr std::int64_t mined_rows = 8;

/// Throws once it is armed, when it meets the record.
struct Bomb {
  std::int64_t record = -1;
  std::function<void()> blast = [] { throw std::runtime_error("planted"); };
  std::atomic<bool> armed{true};

  void meets(std::int64_t index) {
    if (armed && index == record) blast();
  }
};

enum class Stage { read, gather, blocking_read, decode, augment, limited, batch };
struct Place {
  Stage stage;
  const char* name;
};
constexpr Place mined_places[] = {{Stage::read, "read"},          {Stage::gather, "read"},
                                  {Stage::blocking_read, "read"}, {Stage::decode, "decode"},
                                  {Stage::augment, "paint"},      {Stage::limited, "paint"},
                                  {Stage::batch, "mix"}};

struct DecodeBomb {
  static constexpr bool decodes = true;
  std::function<void(Sample&)> body;
  std::string name() const { return "decode"; }
  void operator()(Sample& sample) const { body(sample); }
};

/// Records in order, so that record k stands at place k; the bomb goes off in the named stage.
Loader mined(Stage stage, const std::shared_ptr<Bomb>& bomb, bool fuse, const Runtime& runtime) {
  auto at = [bomb, stage](Stage here, std::int64_t index) {
    if (stage == here) bomb->meets(index);
  };
  auto source = table({.records = mined_records,
                       .gathers = stage == Stage::gather,
                       .blocking = stage == Stage::blocking_read},
                      [at, stage](std::int64_t index) {
                        at(Stage::read, index);
                        at(Stage::gather, index);
                        at(Stage::blocking_read, index);
                      });
  auto batch_step = [at](Batch& batch) {
    for (std::int64_t index : indices_of(batch))
      at(Stage::batch, index);
  };
  Pipeline steps = Pipeline::from(source);
  if (stage != Stage::gather) {
    steps = Pipeline::from(source)
                .then(DecodeBomb{[at](Sample& s) { at(Stage::decode, s.origin().index); }})
                .then(Sum{})
                .then(
                    [at](Sample& s) {
                      at(Stage::augment, s.origin().index);
                      at(Stage::limited, s.origin().index);
                    },
                    {.name = "paint", .limit = stage == Stage::limited ? 1 : 0});
  }
  return std::move(steps)
      .batch({.size = mined_rows})
      .then(batch_step, {.name = "mix"})
      .build({.fuse = fuse, .runtime = runtime});
}

}  // namespace

TEST_CASE(
    "an exception in any stage arrives once, in batch order, with stage and origin; the loader "
    "lives on") {
  Watchdog watchdog("an exception in each stage");
  const int threads_before = settled_thread_count();
  {
    const Runtime runtime({.threads = 4});
    for (const Place& place : mined_places) {
      for (std::int64_t record : {std::int64_t{0}, mined_records / 2, mined_records - 1}) {
        for (bool fuse : {true, false}) {
          CAPTURE(place.name);
          CAPTURE(static_cast<int>(place.stage));
          CAPTURE(record);
          CAPTURE(fuse);
          auto bomb = std::make_shared<Bomb>();
          bomb->record = record;
          Loader loader = mined(place.stage, bomb, fuse, runtime);
          const Failure failure = failure_of(loader, 0);
          CHECK(failure.delivered == record / mined_rows);
          CHECK(failure.message.find(place.name) != std::string::npos);
          CHECK(failure.message.find("planted") != std::string::npos);
          if (place.stage != Stage::batch) {
            REQUIRE(failure.data.has_value());
            CHECK(failure.data->stage() == place.name);
            CHECK(failure.data->origin().index == record);
            CHECK(failure.data->origin().position == record);
            CHECK(failure.data->origin().batch == record / mined_rows);
            CHECK(failure.data->origin().file == "row-" + std::to_string(record));
          }
          bomb->armed = false;
          CHECK(stream_of(loader, 2, 1).rows.size() == mined_records);
          CHECK(stream_of(loader, 0, 1).rows.size() == mined_records);
        }
      }
    }
  }
  CHECK(eventually([threads_before] { return thread_count() == threads_before; }));
}

TEST_CASE("what is thrown may be anything") {
  Watchdog watchdog("exceptions of every kind");
  const Runtime runtime({.threads = 2});
  const std::vector<std::function<void()>> blasts{
      [] { throw 42; },          // NOLINT: not a std::exception on purpose
      [] { throw "a string"; },  // NOLINT
      [] { throw std::bad_alloc(); },
      [] { throw DataError("rule, got what"); },
      [] { throw ConfigError("too late for that"); },
  };
  for (const auto& blast : blasts) {
    for (Stage stage :
         {Stage::read, Stage::blocking_read, Stage::decode, Stage::augment, Stage::batch}) {
      auto bomb = std::make_shared<Bomb>();
      bomb->record = 20;
      bomb->blast = blast;
      Loader loader = mined(stage, bomb, true, runtime);
      const Failure failure = failure_of(loader, 0);
      CHECK(failure.delivered == 2);
      CHECK_FALSE(failure.message.empty());
      bomb->armed = false;
      CHECK(stream_of(loader, 0, 1).rows.size() == mined_records);
    }
  }
}

TEST_CASE(
    "of two failures the one that stands first in the order arrives, though it happened last") {
  Watchdog watchdog("two failures");
  for (int threads : {1, 2, 8}) {
    Loader loader = Pipeline::from(table({.records = mined_records},
                                         [](std::int64_t index) {
                                           if (index == 19) std::this_thread::sleep_for(20ms);
                                           if (index == 19 || index == 20 || index == 30)
                                             throw std::runtime_error("planted");
                                         }))
                        .batch({.size = mined_rows})
                        .build({.runtime = Runtime({.threads = threads})});
    const Failure failure = failure_of(loader, 0);
    REQUIRE(failure.data.has_value());
    CHECK(failure.data->origin().index == 19);
    CHECK(failure.delivered == 2);
  }
}

TEST_CASE("after a failure next() goes on with the following epoch") {
  Watchdog watchdog("next after a failure");
  auto bomb = std::make_shared<Bomb>();
  bomb->record = 9;
  Loader loader = mined(Stage::augment, bomb, true, Runtime({.threads = 2}));
  CHECK(loader.next().batch.number() == 0);
  CHECK_THROWS_AS(loader.next(), DataError);
  bomb->armed = false;
  const NextBatch next = loader.next();
  REQUIRE(next.status == NextBatch::Status::ready);
  CHECK(next.batch.epoch() == 1);
  CHECK(next.batch.number() == 0);
}

TEST_CASE("a loader may be destroyed with a failure that nobody asked for") {
  Watchdog watchdog("a failure nobody asked for");
  const Runtime runtime({.threads = 2});
  for (const Place& place : mined_places) {
    auto bomb = std::make_shared<Bomb>();
    bomb->record = 8;
    Loader loader = mined(place.stage, bomb, true, runtime);
    CHECK(loader.next().status == NextBatch::Status::ready);
    std::this_thread::sleep_for(2ms);
  }
}

TEST_CASE(
    "a step that makes another dtype, shape or no field at all is named together with the rule") {
  Watchdog watchdog("fields that do not fit");
  const Runtime runtime({.threads = 2});
  auto failure_with = [&runtime](std::function<void(Sample&)> step) {
    Loader loader = Pipeline::from(table({.records = 16}))
                        .then(
                            [step](Sample& sample) {
                              if (sample.origin().index == 9) step(sample);
                            },
                            {.name = "paint"})
                        .batch({.size = 4})
                        .build({.runtime = runtime});
    return failure_of(loader, 0);
  };
  const Failure dtype = failure_with([](Sample& s) { s.make("value", DType::float32, Shape{16}); });
  const Failure shape = failure_with([](Sample& s) { s.make("value", DType::uint8, Shape{17}); });
  const Failure missing = failure_with([](Sample& s) { s.remove("value"); });
  for (const Failure* failure : {&dtype, &shape, &missing}) {
    REQUIRE(failure->data.has_value());
    CAPTURE(failure->message);
    CHECK(failure->delivered == 2);
    CHECK(failure->data->origin().index == 9);
    CHECK(failure->message.find("value") != std::string::npos);
  }
  CHECK(dtype.message.find("float32") != std::string::npos);
  CHECK(dtype.message.find("uint8") != std::string::npos);
  CHECK(shape.message.find("17") != std::string::npos);
  CHECK(shape.message.find("16") != std::string::npos);
}
