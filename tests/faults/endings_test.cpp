#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <oneapi/tbb/parallel_for.h>

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t ending_records = 48;

/// A batch step that makes a quarter of a mebibyte.
struct Wide {
  static constexpr std::size_t batch_bytes = std::size_t{8} * 8 * 4096;

  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("wide", DType::float64, Shape{4096}));
    return out;
  }
  void operator()(Batch& batch) const {
    batch.make("wide", DType::float64, Shape{batch.size(), 4096});
  }
};

struct Footprint {
  int threads = settled_thread_count();
  int files = open_files();
};

void check_unchanged(const Footprint& before) {
  CHECK(eventually([&] { return thread_count() == before.threads; }));
  CHECK(open_files() == before.files);
}

/// Holds up who comes until the loader is being ended, then throws.
class LateBomb {
 public:
  explicit LateBomb(std::function<void()> blast) : blast_(std::move(blast)) {}
  void meet() {
    ++inside_;
    while (!ending_)
      std::this_thread::sleep_for(100us);
    blast_();
  }
  void go_off() { ending_ = true; }
  int inside() const { return inside_; }

 private:
  std::function<void()> blast_;
  std::atomic<bool> ending_{false};
  std::atomic<int> inside_{0};
};

enum class BlastStage { read, blocking_read, gather, step, limited, batch };
constexpr BlastStage stages[] = {BlastStage::read, BlastStage::blocking_read, BlastStage::gather,
                                 BlastStage::step, BlastStage::limited,       BlastStage::batch};

Loader mined(BlastStage stage, const std::shared_ptr<LateBomb>& bomb, const Runtime& runtime,
             BadSamples rule = {}) {
  const auto at = [stage, bomb](BlastStage here, std::int64_t index) {
    if (stage == here && index % 16 >= 8) bomb->meet();
  };
  auto source = table(
      {.records = ending_records,
       .gathers = stage == BlastStage::gather,
       .blocking = stage == BlastStage::blocking_read},
      [at](std::int64_t index) {
        for (BlastStage each : {BlastStage::read, BlastStage::blocking_read, BlastStage::gather})
          at(each, index);
      });
  Pipeline steps = Pipeline::from(source).on_bad_sample(std::move(rule));
  if (stage != BlastStage::gather) {
    steps = std::move(steps).then(
        [at](Sample& sample) {
          at(BlastStage::step, sample.origin().index);
          at(BlastStage::limited, sample.origin().index);
        },
        {.limit = stage == BlastStage::limited ? 1 : 0});
  }
  return std::move(steps)
      .batch({.size = 8})
      .then([at](Batch& batch) {
        for (std::int64_t index : indices_of(batch))
          at(BlastStage::batch, index);
      })
      .build({.runtime = runtime});
}

}  // namespace

TEST_CASE("exceptions of every kind in every stage while the loader ends are swallowed with it") {
  Watchdog watchdog("exceptions while a loader ends");
  const Footprint before;
  const std::vector<std::function<void()>> blasts{
      [] { throw std::runtime_error("planted"); }, [] { throw std::bad_alloc(); },
      [] { throw PipelineError("planted"); },
      [] { throw 42; },  // NOLINT: not a std::exception on purpose
  };
  {
    const Runtime runtime({.threads = 2, .io_threads = 2});
    for (BlastStage stage : stages) {
      for (const auto& blast : blasts) {
        for (auto rule : {BadSamples::Rule::fail, BadSamples::Rule::replace}) {
          auto bomb = std::make_shared<LateBomb>(blast);
          std::optional<Loader> loader = mined(stage, bomb, runtime, {.rule = rule});
          loader->next(1ms);  // a limited step that waits may hold back older rows too
          CHECK(eventually([&] { return bomb->inside() > 0; }));
          std::jthread ending([&] { loader.reset(); });
          bomb->go_off();
          ending.join();
          CHECK(runtime.memory_in_use() == 0);
        }
      }
    }
  }
  check_unchanged(before);
}

TEST_CASE("a trainer that is blocked in next() is told when its loader ends") {
  Watchdog watchdog("ended under a blocked trainer");
  const Footprint before;
  for (BlastStage stage : stages) {
    auto bomb = std::make_shared<LateBomb>([] {});
    std::optional<Loader> loader = mined(stage, bomb, Runtime({.threads = 2, .io_threads = 2}));
    Epoch epoch = loader->epoch(0);
    CHECK(eventually([&] { return bomb->inside() > 0; }));
    std::atomic<bool> told{false};
    std::atomic<int> taken{0};
    std::thread trainer([&] {
      try {
        for (auto batch = epoch.begin(); batch != epoch.end(); ++batch)
          ++taken;
      } catch (const PipelineError&) {
        told = true;
      }
    });
    for (int seen = -1; seen != taken;) {
      seen = taken;
      std::this_thread::sleep_for(20ms);
    }
    std::thread release([&] {
      std::this_thread::sleep_for(5ms);
      bomb->go_off();
    });
    loader.reset();
    trainer.join();
    release.join();
    CHECK(told);
  }
  check_unchanged(before);
}

TEST_CASE("a loader whose reader waits at a pipe ends when the pipe does") {
  Watchdog watchdog("a reader at a pipe");
  const Footprint before;
  const TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::atomic<int> waiting{0};
  {
    Loader loader = Pipeline::from(table({.records = ending_records, .blocking = true},
                                         [&](std::int64_t index) {
                                           if (index < 8) return;
                                           ++waiting;
                                           const int file =
                                               ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
                                           char byte = 0;
                                           const auto got = ::read(file, &byte, 1);
                                           ::close(file);
                                           if (got != 1) throw DataError("the pipe has ended");
                                         }))
                        .batch({.size = 8})
                        .build({.runtime = Runtime({.threads = 2, .io_threads = 2})});
    loader.next(1ms);  // both readers may be at the pipe before the first batch is read
    CHECK(eventually([&] { return waiting > 0; }));
    std::atomic<bool> ended{false};
    std::jthread writer([&] {
      std::this_thread::sleep_for(10ms);
      while (!ended) {
        const int file = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (file >= 0) ::close(file);
        std::this_thread::sleep_for(1ms);
      }
    });
    { const Loader last = std::move(loader); }
    ended = true;
  }
  check_unchanged(before);
}

TEST_CASE("loaders end while their batches are on loan in another thread") {
  Watchdog watchdog("ended under loans");
  const Footprint before;
  {
    const Runtime runtime({.threads = 2, .io_threads = 2});
    std::mt19937 dice(3);
    for (std::int64_t cycle = 0; cycle < scaled(400, 40); ++cycle) {
      const bool blocking = cycle % 2 == 0;
      std::vector<Batch> held;
      std::optional<Loader> loader =
          work_on(table({.records = ending_records, .blocking = blocking}), true)
              .batch({.size = 4})
              .build({.prefetch = 2, .loans = 3, .runtime = runtime});
      const int count = 1 + static_cast<int>(dice() % 4);
      for (int i = 0; i < count; ++i)
        held.push_back(loader->next().batch);
      const auto pause = std::chrono::microseconds(dice() % 200);
      std::jthread holder([held = std::move(held), pause]() mutable {
        for (Batch& batch : held) {
          std::this_thread::sleep_for(pause);
          const std::string bytes = bytes_of(batch);
          batch = Batch();
          static_cast<void>(bytes);
        }
      });
      std::this_thread::sleep_for(std::chrono::microseconds(dice() % 300));
      loader.reset();
    }
    CHECK(runtime.memory_in_use() == 0);
  }
  check_unchanged(before);
}

TEST_CASE("two loaders at once on one runtime give what each gives alone") {
  Watchdog watchdog("two loaders at once");
  const auto build = [](bool blocking, const Runtime& runtime) {
    return work_on(table({.records = 200, .blocking = blocking}), true)
        .batch({.size = 8})
        .build({.runtime = runtime});
  };
  Loader first_alone = build(false, Runtime({.threads = 1}));
  Loader second_alone = build(true, Runtime({.threads = 1}));
  const auto right_first = stream_of(first_alone, 0, 3).batches;
  const auto right_second = stream_of(second_alone, 0, 3).batches;
  const Runtime runtime({.threads = 2, .io_threads = 2});
  for (int cycle = 0; cycle < 10; ++cycle) {
    Loader first = build(false, runtime);
    Loader second = build(true, runtime);
    std::vector<std::string> got;
    std::thread trainer([&] { got = stream_of(first, 0, 3).batches; });
    CHECK(same(stream_of(second, 0, 3).batches, right_second));
    trainer.join();
    CHECK(same(got, right_first));
  }
  CHECK(runtime.memory_in_use() == 0);
}

TEST_CASE("thirty loaders in turn on one runtime: memory and threads stay as they are") {
  Watchdog watchdog("thirty loaders in turn");
  const Footprint outside;
  {
    const Runtime runtime({.threads = 2, .io_threads = 2});
    std::optional<Footprint> warm;
    std::int64_t resident = 0;
    for (int k = 0; k < 30; ++k) {
      Loader loader = work_on(table({.records = 2000, .blocking = k % 2 == 0}), true)
                          .batch({.size = 64})
                          .build({.fuse = k % 3 != 0, .runtime = runtime});
      std::int64_t rows = 0;
      for (std::int64_t epoch = 0; epoch < 2; ++epoch)
        for (Batch& batch : loader.epoch(epoch))
          rows += batch.size();
      CHECK(rows == 4000);
      if (k == 5) {
        warm.emplace();
        resident = resident_bytes();
      }
      if (k > 5) CHECK(eventually([&warm] { return thread_count() == warm->threads; }));
    }
    CHECK(runtime.memory_in_use() == 0);
    if (!sanitized) CHECK(resident_bytes() - resident < std::int64_t{4} << 20);
  }
  check_unchanged(outside);
}

TEST_CASE("a runtime's budget counts samples and fields of batch steps as the forecast does") {
  Watchdog watchdog("the budget of a runtime");
  const Runtime runtime({.threads = 2, .io_threads = 2});
  Loader loader = work_on(table({.records = ending_records, .blocking = true}), false)
                      .batch({.size = 8})
                      .then(Wide{})
                      .build({.join_epochs = false, .runtime = runtime});
  std::size_t counted = 0;
  for (const MemoryForecast::Item& item : loader.forecast().items) {
    if (item.name != "source" && item.name != "order" && item.name != "working memory of steps")
      counted += item.bytes;
  }
  CHECK(counted > Wide::batch_bytes);
  CHECK(runtime.memory_in_use() == 0);
  for (Batch& batch : loader.epoch(0)) {
    CHECK(batch.has("wide"));
    CHECK(runtime.memory_in_use() == counted);
  }
  CHECK(runtime.memory_in_use() == 0);
}

TEST_CASE("what batch steps made goes with the slabs when a loader rests") {
  Watchdog watchdog("memory of batch steps");
  const auto taken = [] {
    const struct mallinfo2 now = mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
  };
  Loader loader = work_on(table({.records = ending_records}), false)
                      .batch({.size = 8})
                      .then(Wide{})
                      .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
  const std::int64_t before = taken();
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      CHECK(batch.has("wide"));
      if (!sanitized) CHECK(taken() - before >= std::int64_t{Wide::batch_bytes});
    }
    if (!sanitized) CHECK(taken() - before < std::int64_t{Wide::batch_bytes});
  }
}

TEST_CASE("a step with a limit may wait inside TBB while rows are replaced") {
  Watchdog watchdog("a limited step that waits inside TBB");
  for (int threads : {1, 2, 4}) {
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    const auto wait_inside = [&](Sample& sample) {
      const int now = ++inside;
      int known = most.load();
      while (now > known && !most.compare_exchange_weak(known, now)) {
      }
      std::atomic<std::int64_t> sum{0};
      tbb::parallel_for(0, 64,
                        [&](int i) { tbb::parallel_for(0, 8, [&](int k) { sum += i * k; }); });
      --inside;
      if (sum != 2016 * 28) throw std::runtime_error("a wrong sum");
      if (sample.origin().index % 5 == 0) throw DataError("planted");
    };
    Loader loader = Pipeline::from(table({.records = 400}))
                        .on_bad_sample({.rule = BadSamples::Rule::replace, .attempts = 100})
                        .then([](Sample& sample) {
                          if (sample.origin().index % 7 == 0) throw DataError("planted");
                        })
                        .then(wait_inside, {.limit = 1})
                        .batch({.size = 16})
                        .build({.runtime = Runtime({.threads = threads})});
    std::int64_t rows = 0;
    for (std::int64_t epoch = 0; epoch < 2; ++epoch)
      for (Batch& batch : loader.epoch(epoch))
        rows += batch.size();
    CHECK(rows == 800);
    CHECK(most == 1);
  }
}
