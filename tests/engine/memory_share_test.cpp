// What loaders give up of their memory while they run.
#include <headrace/engine/base/internal/own_heap.h>
#include <headrace/engine/runtime/threads_at_work.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t batch_rows = 8;

const std::vector<TableOptions> kinds{
    {.records = 400},
    {.records = 400, .blocking = true},
    {.records = 400, .gathers = true},
};

Loader loader_on(const Runtime& runtime, const TableOptions& options, std::uint64_t seed = 7,
                 bool fuse = true) {
  return stream_on(options, {}, seed)
      .batch({.size = batch_rows})
      .build({.prefetch = 6, .fuse = fuse, .runtime = runtime});
}

// Changes share and pause all the time.
class Restless {
 public:
  explicit Restless(const Runtime& runtime)
      : thread_([held = runtime](const std::stop_token& stop) mutable {
          std::mt19937 random(11);
          const std::vector<double> shares{0.0, 0.1, 0.5, 1.0};
          while (!stop.stop_requested()) {
            held.set_share(shares[random() % shares.size()]);
            held.set_paused(random() % 3 == 0);
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
          }
          held.set_paused(false);
        }) {}

 private:
  std::jthread thread_;
};

// Of the calling thread, as the tests' steps count it.
thread_local std::int64_t heap = 0;

std::int64_t heap_meter() noexcept {
  return heap;
}

struct Keeps {
  std::string name() const { return "keeps"; }
  void operator()(Sample&) const { heap += 100; }
};

struct GivesBack {
  std::string name() const { return "gives back"; }
  void operator()(Sample&) const {
    heap += 1000;
    heap -= 1000;
  }
};

struct KeepsOfBatches {
  std::string name() const { return "whole"; }
  void operator()(Batch&, Stream) const { heap += 7; }
};

std::int64_t kept_by(const LoaderHolding& loader, const std::string& stage) {
  for (const LoaderHolding::Stage& one : loader.stages)
    if (one.name == stage) return one.kept;
  FAIL("no stage ", stage);
  return 0;
}

}  // namespace

TEST_CASE("batches are the same whatever share of their memory loaders may use, and when") {
  Watchdog watchdog("a restless share");
  for (const TableOptions& options : kinds) {
    const Runtime calm({.threads = 2, .io_threads = 2});
    Loader plain = loader_on(calm, options);
    const Delivered expected = stream_of(plain, 0, 4);
    for (const int threads : {1, 2, 8}) {
      for (const bool fuse : {true, false}) {
        const Runtime runtime({.threads = threads, .io_threads = 2});
        Loader loader = loader_on(runtime, options, 7, fuse);
        const Restless restless(runtime);
        CAPTURE(threads);
        CHECK(same(stream_of(loader, 0, 4).batches, expected.batches));
      }
    }
    Loader other = loader_on(calm, options, 8);
    CHECK_FALSE(same(stream_of(other, 0, 4).batches, expected.batches));
  }
}

TEST_CASE("without a share a batch is made when the one before is delivered, and not sooner") {
  Watchdog watchdog("no share");
  for (TableOptions options : kinds) {
    for (const double share : {0.0, 1.0}) {
      Runtime runtime({.threads = 2, .io_threads = 2});
      runtime.set_share(share);
      CHECK(runtime.share() == share);
      const auto source = table(options);
      Loader loader = (options.gathers ? rows_of_source(source) : work_on(source, true))
                          .batch({.size = batch_rows})
                          .build({.prefetch = 6, .runtime = runtime});
      const NextBatch first = loader.next();
      REQUIRE(first.status == NextBatch::Status::ready);
      if (share == 0.0) {
        CHECK(eventually([&] { return source->reads() == 2 * batch_rows; }));
        std::this_thread::sleep_for(20ms);
        CHECK(source->reads() == 2 * batch_rows);
      } else {
        CHECK(eventually([&] { return source->reads() > 4 * batch_rows; }));
      }
    }
  }
}

TEST_CASE("free slabs beyond the share go back to the system, and come again") {
  Watchdog watchdog("slabs that rest");
  Runtime runtime({.threads = 2});
  Loader loader = loader_on(runtime, {.records = 4000});
  NextBatch held = loader.next();
  REQUIRE(eventually([&] { return loader.stats().ready_depth > 0; }));
  REQUIRE(runtime.holdings().size() == 1);
  const std::size_t before = runtime.holdings().front().bytes;
  runtime.set_share(0.0);
  for (int i = 0; i < 20; ++i)
    held = loader.next();
  CHECK(runtime.holdings().front().bytes < before);
  runtime.set_share(1.0);
  for (int i = 0; i < 20; ++i)
    held = loader.next();
  CHECK(eventually([&] { return runtime.holdings().front().bytes == before; }));
}

TEST_CASE("while it is paused a loader delivers what is made and then waits") {
  Watchdog watchdog("a pause");
  for (const TableOptions& options : kinds) {
    Runtime runtime({.threads = 2, .io_threads = 2});
    Loader loader = loader_on(runtime, options);
    REQUIRE(loader.next().status == NextBatch::Status::ready);
    runtime.set_paused(true);
    CHECK(runtime.paused());
    int delivered = 0;
    while (loader.next(50ms).status == NextBatch::Status::ready)
      ++delivered;
    NextBatch::Status last{};
    do {  // what was under way may come late
      std::stop_source stop;
      std::jthread asker([&] { stop.request_stop(); });
      last = loader.next(std::chrono::nanoseconds::max(), stop.get_token()).status;
      if (last == NextBatch::Status::ready) ++delivered;
    } while (last == NextBatch::Status::ready && delivered < 10);
    CHECK(last == NextBatch::Status::stopped);
    CHECK(delivered < 10);
    runtime.set_paused(false);
    CHECK(loader.next().status == NextBatch::Status::ready);
  }
}

TEST_CASE("a trainer that holds every slab is told so without a share, too") {
  Watchdog watchdog("all on loan");
  Runtime runtime({.threads = 2});
  runtime.set_share(0.0);
  Loader loader = loader_on(runtime, {.records = 400});
  std::vector<Batch> held;
  const int slabs = loader.stats().slabs;
  for (int i = 0; i < slabs; ++i) {
    NextBatch next = loader.next();
    REQUIRE(next.status == NextBatch::Status::ready);
    held.push_back(std::move(next.batch));
  }
  CHECK_THROWS_AS(loader.next(), PipelineError);
}

TEST_CASE("a loader that is built while its runtime is paused begins with the pause's end") {
  Watchdog watchdog("built in a pause");
  Runtime runtime({.threads = 2});
  runtime.set_paused(true);
  Loader loader = loader_on(runtime, {.records = 400});
  CHECK(loader.next(20ms).status == NextBatch::Status::timeout);
  runtime.set_paused(false);
  CHECK(loader.next().status == NextBatch::Status::ready);
}

TEST_CASE("who keeps what it takes from the heap is known by step, with a meter") {
  Watchdog watchdog("kept");
  for (const bool blocking : {false, true}) {
    for (const bool metered : {true, false}) {
      const Runtime runtime(
          {.threads = 2, .io_threads = 2, .heap_meter = metered ? &heap_meter : nullptr});
      Loader loader = Pipeline::from(table({.records = 64, .blocking = blocking},
                                           [](std::int64_t) { heap += 1; }))
                          .named("train")
                          .then(Keeps{})
                          .then(GivesBack{})
                          .batch({.size = batch_rows})
                          .then(KeepsOfBatches{})
                          .build({.join_epochs = false, .runtime = runtime});
      for (Batch& batch : loader.epoch(0))
        CHECK(batch.size() == batch_rows);
      const std::vector<LoaderHolding> holdings = runtime.holdings();
      REQUIRE(holdings.size() == 1);
      CHECK(holdings.front().loader == "train");
      CHECK(kept_by(holdings.front(), "read") == (metered ? 64 : 0));
      CHECK(kept_by(holdings.front(), "keeps") == (metered ? 6400 : 0));
      CHECK(kept_by(holdings.front(), "gives back") == 0);
      CHECK(kept_by(holdings.front(), "whole") == (metered ? 7 * 8 : 0));
    }
  }
}

TEST_CASE("what pools take is the engine's, whichever step they grow in") {
  const Runtime runtime({.threads = 1, .heap_meter = &heap_meter});
  const std::int64_t before = headrace::detail::heap_of_steps();
  {
    const headrace::detail::OwnHeap pooled;
    heap += 1000;
  }
  CHECK(headrace::detail::heap_of_steps() == before);
  heap += 10;
  CHECK(headrace::detail::heap_of_steps() == before + 10);
}

TEST_CASE("loaders end, are left and sought while shares change") {
  Watchdog watchdog("loaders that end");
  const Runtime runtime({.threads = 4, .io_threads = 2});
  const Restless restless(runtime);
  for (int round = 0; round < scaled(300, 60); ++round) {
    Loader loader = loader_on(runtime, kinds[static_cast<std::size_t>(round) % kinds.size()], 7,
                              round % 2 == 0);
    const int batches = round % 5;
    int seen = 0;
    for (Batch& batch : loader.epoch(0)) {
      CHECK(batch.size() > 0);
      if (++seen > batches) break;
    }
    if (round % 3 == 0) loader.seek({.seed = 7, .epoch = 1, .position = 16});
    if (round % 4 == 0) CHECK(loader.next().status == NextBatch::Status::ready);
  }
}

TEST_CASE("a pause is no hang") {
  Watchdog watchdog("a pause under a watchdog");
  Runtime runtime({.threads = 2});
  std::atomic<int> reports{0};
  Loader loader =
      stream_on({.records = 400})
          .batch({.size = batch_rows})
          .build({.watchdog = {.after = 1s, .action = [&](const HangReport&) { ++reports; }},
                  .runtime = runtime});
  REQUIRE(loader.next().status == NextBatch::Status::ready);
  runtime.set_paused(true);
  while (loader.next(100ms).status == NextBatch::Status::ready) {
  }
  REQUIRE(eventually([&] { return threads_at_work(runtime).empty(); }));
  reports = 0;  // a busy machine may have stood still before
  CHECK(loader.next(3s).status == NextBatch::Status::timeout);
  CHECK(reports == 0);
  runtime.set_paused(false);
  CHECK(loader.next().status == NextBatch::Status::ready);
}

TEST_CASE("loaders are listed from their first epoch to their end, and shares are shares") {
  Runtime runtime({.threads = 2});
  {
    Loader loader = loader_on(runtime, {.records = 400});
    CHECK(runtime.holdings().empty());
    REQUIRE(loader.next().status == NextBatch::Status::ready);
    CHECK(runtime.holdings().size() == 1);
  }
  CHECK(runtime.holdings().empty());
  for (const double share : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_AS(runtime.set_share(share), ConfigError);
  CHECK(runtime.share() == 1.0);
}
