#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

struct Footprint {
  int threads = settled_thread_count();
  int files = open_files();
  std::int64_t resident = resident_bytes();
};

/// Threads and descriptors are those of before, memory grew by less than `slack` bytes.
void check_unchanged(const Footprint& before, std::int64_t slack = std::int64_t{8} << 20) {
  CHECK(eventually([&before] { return thread_count() == before.threads; }));
  CHECK(open_files() == before.files);
  if (!sanitized) CHECK(resident_bytes() - before.resident < slack);
}

}  // namespace

TEST_CASE("a thousand epochs left early, at any batch, neither hang nor leak nor mix up batches") {
  Watchdog watchdog("epochs left early");
  const Footprint outside;
  {
    for (bool blocking : {false, true}) {
      Loader loader = work_on(table({.records = 200, .blocking = blocking}), true)
                          .batch({.size = 8})
                          .build({.runtime = Runtime({.threads = 2, .io_threads = 2})});
      std::mt19937 dice(1);
      std::optional<Footprint> warm;
      for (std::int64_t cycle = 0; cycle < scaled(1000, 100); ++cycle) {
        const std::int64_t epoch =
            cycle % 3 == 0 ? cycle / 3 : static_cast<std::int64_t>(dice() % 50);
        const std::int64_t leave_after = static_cast<std::int64_t>(dice() % 27);
        std::int64_t number = 0;
        if (leave_after > 0) {
          for (Batch& batch : loader.epoch(epoch)) {
            REQUIRE(batch.epoch() == epoch);
            REQUIRE(batch.number() == number++);
            if (number == leave_after) break;
          }
        }
        if (cycle == 50) warm.emplace();
      }
      check_unchanged(*warm);
    }
  }
  CHECK(eventually([&outside] { return thread_count() == outside.threads; }));
}

TEST_CASE(
    "ten thousand loaders on one runtime are made and ended in every state without hang or leak") {
  Watchdog watchdog("ten thousand loaders");
  const Footprint outside;
  {
    const Runtime runtime({.threads = 2, .io_threads = 2});
    const auto memory = table({.records = 64});
    const auto gathering = table({.records = 64, .gathers = true});
    const auto waiting = table({.records = 64, .blocking = true},
                               [](std::int64_t) { std::this_thread::sleep_for(50us); });
    const std::shared_ptr<const Source> sources[] = {memory, gathering, waiting};
    std::deque<Batch> on_loan;
    std::optional<Footprint> warm;
    for (std::int64_t k = 0; k < scaled(10'000, 600); ++k) {
      Loader loader = work_on(sources[k % 3], true)
                          .batch({.size = 8})
                          .build({.prefetch = 2, .fuse = k % 2 == 0, .runtime = runtime});
      switch (k % 5) {
        case 0:
          break;  // never started
        case 1:
          loader.try_next();
          break;  // at work
        case 2:
          loader.next();
          break;  // full, blocked on the trainer
        case 3:
          on_loan.push_back(loader.next().batch);
          break;
        case 4:
          for (Batch& batch : loader.epoch(k))
            if (batch.number() == 2) break;
          break;
      }
      if (on_loan.size() > 4) on_loan.pop_front();
      if (k == 500) warm.emplace();
    }
    check_unchanged(*warm, std::int64_t{16} << 20);
    for (const Batch& batch : on_loan)
      CHECK(batch.size() == 8);
    on_loan.clear();
    CHECK(runtime.memory_in_use() == 0);
  }
  CHECK(eventually([&outside] { return thread_count() == outside.threads; }));
}

TEST_CASE("loaders with a runtime of their own come and go with all their threads") {
  Watchdog watchdog("loaders with own runtimes");
  const Footprint before;
  for (std::int64_t k = 0; k < scaled(200, 30); ++k) {
    Loader loader =
        work_on(table({.records = 64, .blocking = k % 3 == 0}), true)
            .batch({.size = 8})
            .build({.runtime = Runtime({.threads = 1 + static_cast<int>(k % 4), .io_threads = 1})});
    if (k % 4 == 1) loader.next();
    if (k % 4 == 2) loader.try_next();
    if (k % 4 == 3) stream_of(loader, 0, 1);
  }
  check_unchanged(before, std::int64_t{16} << 20);
}

TEST_CASE("a loader that is destroyed while its source waits ends as soon as the source returns") {
  Watchdog watchdog("destroyed while the source waits");
  std::atomic<bool> open = false;
  std::atomic<bool> begun = false;
  const int before = settled_thread_count();
  std::jthread opener;
  {
    Loader loader = Pipeline::from(table({.records = 64, .blocking = true},
                                         [&](std::int64_t) {
                                           begun = true;
                                           while (!open)
                                             std::this_thread::sleep_for(1ms);
                                         }))
                        .batch({.size = 8})
                        .build({.runtime = Runtime({.threads = 2})});
    CHECK(loader.next(1ms).status == NextBatch::Status::timeout);
    CHECK(eventually([&begun] { return begun.load(); }));
    opener = std::jthread([&open] {
      std::this_thread::sleep_for(20ms);
      open = true;
    });
  }
  opener.join();
  CHECK(eventually([before] { return thread_count() == before; }));
}

TEST_CASE("an epoch outlives its loader's handle, and the loader may be moved") {
  Watchdog watchdog("moved and outlived");
  const Runtime runtime({.threads = 2});
  auto build = [&runtime] {
    return work_on(table({.records = 40}), true).batch({.size = 8}).build({.runtime = runtime});
  };
  Loader first = build();
  Loader second = std::move(first);
  CHECK(second.next().status == NextBatch::Status::ready);
  second = build();
  std::int64_t rows = 0;
  for (Batch& batch : second.epoch(0))
    rows += batch.size();
  CHECK(rows == 40);
  Epoch epoch = second.epoch(1);
  Epoch moved = std::move(epoch);
  rows = 0;
  for (Batch& batch : moved)
    rows += batch.size();
  CHECK(rows == 40);
}

TEST_CASE("two loaders take turns on one runtime, a thousand times") {
  Watchdog watchdog("train and validation in turn");
  const Runtime runtime({.threads = 2});
  Loader train = work_on(table({.records = 48}), true)
                     .named("train")
                     .batch({.size = 8})
                     .build({.runtime = runtime});
  Loader test = Pipeline::from(table({.records = 24, .blocking = true}))
                    .named("test")
                    .batch({.size = 8})
                    .build({.runtime = runtime});
  for (std::int64_t epoch = 0; epoch < scaled(1000, 50); ++epoch) {
    std::int64_t rows = 0;
    for (Batch& batch : train.epoch(epoch))
      rows += batch.size();
    for (Batch& batch : test.epoch(epoch))
      rows += batch.size();
    REQUIRE(rows == 72);
  }
}

TEST_CASE("an idle loader uses no processor time") {
  Watchdog watchdog("idle");
  const Runtime runtime({.threads = 4});
  Loader waiting =
      work_on(table({.records = 4000}), true).batch({.size = 8}).build({.runtime = runtime});
  Loader ended = work_on(table({.records = 40}), true)
                     .batch({.size = 8})
                     .build({.join_epochs = false, .runtime = runtime});
  const NextBatch next = waiting.next();
  stream_of(ended, 0, 1);
  // Once what was under way is done.
  CHECK(eventually([] {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(300ms);
    return cpu_seconds() - before < 0.010;
  }));
}
