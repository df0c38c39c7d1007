#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t case_records = 203;
constexpr std::int64_t case_rows = 16;

struct Case {
  const char* name;
  TableOptions table;
  bool fuse;
  bool random;
  bool steps = true;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool fuse : {true, false}) {
    for (bool random : {true, false}) {
      all.push_back({"per sample", {.records = case_records}, fuse, random});
      all.push_back({"gather", {.records = case_records, .gathers = true}, fuse, random});
      all.push_back({"blocking", {.records = case_records, .blocking = true}, fuse, random});
      all.push_back({"blocking gather",
                     {.records = case_records, .gathers = true, .blocking = true},
                     fuse,
                     random});
    }
  }
  for (bool gathers : {false, true})
    for (bool blocking : {false, true})
      all.push_back({"no steps",
                     {.records = case_records, .gathers = gathers, .blocking = blocking},
                     true,
                     false,
                     false});
  return all;
}

Delivered deliver(const Case& one, int prefetch, const Runtime& runtime, std::uint64_t seed = 7) {
  Pipeline steps = one.steps ? work_on(table(one.table), one.random, seed)
                             : rows_of_source(table(one.table), seed);
  Loader loader = std::move(steps)
                      .batch({.size = case_rows})
                      .build({.prefetch = prefetch, .fuse = one.fuse, .runtime = runtime});
  return stream_of(loader, 0, 2);
}

/// What must never be done: draws that belong to the worker instead of the sample.
struct KeyedByThread {
  std::uint32_t state;
  void operator()(Sample& sample) {
    std::this_thread::sleep_for(200us);
    for (std::uint8_t& value : sample["value"].values<std::uint8_t>()) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<std::uint8_t>(value + (state >> 24));
    }
  }
};

std::vector<std::string> keyed_by_thread(int threads) {
  auto workers = std::make_shared<std::atomic<std::uint32_t>>(0);
  auto factory = [workers] { return KeyedByThread{17 * workers->fetch_add(1)}; };
  Loader loader = Pipeline::from(table({.records = 64}))
                      .then(per_worker(factory), {.name = "by thread"})
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = threads})});
  return stream_of(loader, 0, 1).batches;
}

}  // namespace

TEST_CASE("the bytes are the same for every number of threads and every prefetch depth") {
  Watchdog watchdog("the table of thread counts and prefetch depths");
  const std::vector<Runtime> runtimes{Runtime({.threads = 1}), Runtime({.threads = 2}),
                                      Runtime({.threads = 8})};
  for (const Case& one : cases()) {
    const std::vector<std::string> expected = deliver(one, 1, runtimes[0]).batches;
    REQUIRE(expected.size() == 26);
    for (const Runtime& runtime : runtimes) {
      for (int prefetch : {1, 2, 16}) {
        CAPTURE(one.name);
        CAPTURE(one.fuse);
        CAPTURE(one.random);
        CAPTURE(runtime.threads());
        CAPTURE(prefetch);
        CHECK(same(deliver(one, prefetch, runtime).batches, expected));
      }
    }
  }
}

TEST_CASE("fusing, gathering and waiting for a disk change no byte") {
  Watchdog watchdog("fused and unfused");
  const Runtime runtime({.threads = 2});
  for (bool random : {true, false}) {
    const Case plain{"per sample", {.records = case_records}, true, random};
    const std::vector<std::string> expected = deliver(plain, 4, runtime).batches;
    for (const Case& one : cases()) {
      if (one.random != random || !one.steps) continue;
      CAPTURE(one.name);
      CAPTURE(one.fuse);
      CHECK(same(deliver(one, 4, runtime).batches, expected));
    }
  }
}

TEST_CASE("the two epochs differ in order and in draws") {
  Watchdog watchdog("two epochs");
  Loader loader = work_on(table({.records = case_records}), true)
                      .batch({.size = case_rows})
                      .build({.runtime = Runtime({.threads = 2})});
  const Delivered first = stream_of(loader, 0, 1);
  const Delivered second = stream_of(loader, 1, 1);
  CHECK_FALSE(same(first.rows, second.rows));
  const Delivered again = stream_of(loader, 0, 1);
  CHECK(same(first.batches, again.batches));
}

TEST_CASE("twin: a seed that is off by one gives other bytes") {
  Watchdog watchdog("another seed");
  const Runtime runtime({.threads = 2});
  for (const Case& one : cases())
    CHECK_FALSE(same(deliver(one, 2, runtime, 8).rows, deliver(one, 2, runtime, 7).rows));
}

TEST_CASE("twin: an order that is not shuffled gives other bytes") {
  Watchdog watchdog("sequential");
  const Runtime runtime({.threads = 2});
  auto in_order = [&runtime](auto order) {
    Loader loader = Pipeline::from(table({.records = case_records}))
                        .order(order)
                        .batch({.size = case_rows})
                        .build({.runtime = runtime});
    return stream_of(loader, 0, 1).rows;
  };
  CHECK_FALSE(same(in_order(Sequential{}), in_order(Shuffled{.seed = 7})));
  CHECK(same(in_order(Sequential{}), in_order(Sequential{})));
}

TEST_CASE("twin: draws keyed by the thread are caught by the comparison") {
  Watchdog watchdog("draws keyed by the thread");
  const std::vector<std::string> alone = keyed_by_thread(1);
  CHECK_FALSE(same(keyed_by_thread(8), alone));
}

TEST_CASE("the loader's name and the seed of the steps are part of every draw") {
  Watchdog watchdog("names and seeds");
  const Runtime runtime({.threads = 2});
  auto values = [&runtime](const char* name, std::uint64_t seed) {
    Loader loader = Pipeline::from(table({.records = 64}))
                        .named(name)
                        .seed(seed)
                        .then(Jitter{})
                        .batch({.size = 8})
                        .build({.runtime = runtime});
    return stream_of(loader, 0, 1).rows;
  };
  CHECK(same(values("train", 3), values("train", 3)));
  CHECK_FALSE(same(values("train", 3), values("validation", 3)));
  CHECK_FALSE(same(values("train", 3), values("train", 4)));
}

TEST_CASE("another random step does not move the draws of the others") {
  Watchdog watchdog("an inserted step");
  struct Mark {
    std::string name() const { return "mark"; }
    Schema schema(const Schema& in) const {
      Schema out = in;
      out.put(FieldSpec::fixed("mark", DType::int64, Shape{}));
      return out;
    }
    void operator()(Sample& sample, Random& random) const {
      sample.set_scalar<std::int64_t>("mark", random.below(1000));
    }
  };
  const Runtime runtime({.threads = 2});
  auto values_of = [](Loader loader) {
    std::string values;
    for (Batch& batch : loader.epoch(0))
      values += bytes_of(batch["value"]);
    return values;
  };
  const std::string without = values_of(Pipeline::from(table({.records = 64}))
                                            .then(Jitter{})
                                            .batch({.size = 8})
                                            .build({.runtime = runtime}));
  const std::string with = values_of(Pipeline::from(table({.records = 64}))
                                         .then(Mark{})
                                         .then(Jitter{})
                                         .batch({.size = 8})
                                         .build({.runtime = runtime}));
  CHECK(without == with);
  const std::string renamed = values_of(Pipeline::from(table({.records = 64}))
                                            .then(Jitter{.called = "another"})
                                            .batch({.size = 8})
                                            .build({.runtime = runtime}));
  CHECK(without != renamed);
}
