#include <headrace/engine/runtime/threads_at_work.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

std::set<std::string> names_of(const Trace& trace) {
  std::set<std::string> names;
  for (const TraceSpan& span : trace.spans)
    names.insert(trace.names.at(span.name).name);
  return names;
}

std::int64_t lost(const Trace& trace) {
  std::int64_t sum = trace.lost_marks;
  for (const std::int64_t of_thread : trace.lost)
    sum += of_thread;
  return sum;
}

bool nests(const Trace& trace) {
  std::vector<const TraceSpan*> open;
  for (const TraceSpan& span : trace.spans) {
    const auto end = [](const TraceSpan* one) { return one->start_ns + one->duration_ns; };
    while (!open.empty() &&
           (open.back()->thread != span.thread || end(open.back()) <= span.start_ns))
      open.pop_back();
    if (!open.empty() && end(&span) > end(open.back())) return false;
    open.push_back(&span);
  }
  return true;
}

// Batches whose whole way lies in the window.
int whole_ways(const Trace& trace) {
  int count = 0;
  for (const TraceBatch& batch : trace.batches) {
    if (batch.admitted_ns < 0 || batch.delivered_ns < 0) continue;
    CHECK(batch.admitted_ns <= batch.collated_ns);
    CHECK(batch.collated_ns <= batch.ready_ns);
    CHECK(batch.ready_ns <= batch.delivered_ns);
    CHECK(batch.asked_ns <= batch.delivered_ns);
    CHECK(batch.dropped_ns == -1);
    ++count;
  }
  return count;
}

Loader loader_of(const Runtime& runtime, const TableOptions& options, bool fuse = true) {
  return work_on(table(options), true)
      .batch({.size = 8})
      .then([](Batch&) {}, {.name = "mix"})
      .build({.fuse = fuse, .join_epochs = false, .runtime = runtime});
}

Trace only(std::vector<Trace> traces) {
  REQUIRE(traces.size() == 1);
  return std::move(traces.front());
}

}  // namespace

TEST_CASE("a trace has every stage on its threads, nested, and the way of every batch") {
  Watchdog watchdog("a trace");
  for (const bool fuse : {true, false}) {
    for (const bool blocking : {true, false}) {
      CAPTURE(fuse);
      CAPTURE(blocking);
      const Runtime runtime({.threads = 2, .io_threads = 3});
      Loader loader = loader_of(runtime, {.records = 100, .blocking = blocking}, fuse);
      Tracing tracing(runtime);
      stream_of(loader, 0, 2);
      const Trace trace = only(tracing.stop());
      CHECK(trace.loader == "train");
      CHECK(trace.threads.size() == 5);
      CHECK(trace.threads.front() == "headrace-0");
      CHECK(trace.threads.back() == "headrace-io-2");
      const std::set<std::string> names = names_of(trace);
      for (const char* stage : {"read", "decode", "sum", "jitter", "collate", "transfer", "mix"})
        CHECK_MESSAGE(names.contains(stage), stage);
      CHECK(nests(trace));
      CHECK(lost(trace) == 0);
      CHECK(trace.batches.size() == 26);
      CHECK(whole_ways(trace) == 26);
      CHECK_FALSE(trace.counts.empty());
      for (const TraceSpan& span : trace.spans) {
        CHECK(span.start_ns >= trace.from_ns);
        CHECK(span.start_ns + span.duration_ns <= trace.to_ns);
        CHECK(span.batch >= 0);
      }
    }
  }
}

TEST_CASE("a trace of gathered rows has reading in whole blocks") {
  Watchdog watchdog("a trace of gathered rows");
  const Runtime runtime({.threads = 2});
  Loader loader = rows_of_source(table({.records = 100, .gathers = true}))
                      .batch({.size = 10})
                      .build({.join_epochs = false, .runtime = runtime});
  Tracing tracing(runtime);
  stream_of(loader, 0, 1);
  const Trace trace = only(tracing.stop());
  std::int64_t rows = 0;
  for (const TraceSpan& span : trace.spans)
    if (trace.names[span.name].name == "read") rows += span.rows;
  CHECK(rows == 100);
}

TEST_CASE("what is delivered is the same with a trace and without, on any number of threads") {
  Watchdog watchdog("bytes under a trace");
  std::vector<std::string> first;
  for (const int threads : {1, 2, 8}) {
    for (const bool traced : {false, true}) {
      const Runtime runtime({.threads = threads});
      Loader loader = loader_of(runtime, {.records = scaled(1000, 200)});
      std::optional<Tracing> tracing;
      if (traced) tracing.emplace(runtime, TraceOptions{.events_per_thread = 64});
      std::vector<std::string> batches = stream_of(loader, 0, 2).batches;
      if (first.empty()) first = batches;
      CHECK(same(batches, first));
    }
  }
}

TEST_CASE("without a trace nothing is taken for one, and its memory is said and given back") {
  Watchdog watchdog("memory of a trace");
  const Runtime runtime({.threads = 2, .io_threads = 1});
  {
    Loader loader = loader_of(runtime, {});
    stream_of(loader, 0, 1);
    const std::size_t before = loader.forecast().total();
    CHECK(runtime.memory_in_use() == 0);
    Tracing tracing(runtime, {.events_per_thread = 1000});
    constexpr std::size_t rings = 4 * 1024 * 48;  // three threads and the loader's own
    CHECK(loader.forecast().total() == before + rings);
    CHECK(runtime.memory_in_use() == rings);
    tracing.stop();
    Tracing again(runtime, {.events_per_thread = 100});  // takes the same ones
    CHECK(loader.forecast().total() == before + rings);
    stream_of(loader, 1, 1);
    CHECK(whole_ways(only(again.stop())) == 13);
  }
  CHECK(runtime.memory_in_use() == 0);
}

TEST_CASE("a trace needs room in the runtime's budget") {
  Watchdog watchdog("a budget without room");
  const Runtime runtime({.threads = 1, .io_threads = 1, .memory = 1 << 20});
  Loader loader = loader_of(runtime, {});
  stream_of(loader, 0, 1);
  CHECK_THROWS_AS(Tracing(runtime, TraceOptions{.events_per_thread = 1 << 20}), ResourceError);
  Tracing tracing(runtime, {.events_per_thread = 16});  // the failed one is not on
  stream_of(loader, 1, 1);
  CHECK(only(tracing.stop()).batches.size() > 0);
}

TEST_CASE("a ring that is too small keeps the newest and says how many it lost") {
  Watchdog watchdog("a small ring");
  const Runtime runtime({.threads = 1, .io_threads = 1});
  Loader loader = loader_of(runtime, {.records = 400});
  Tracing tracing(runtime, {.events_per_thread = 16});
  stream_of(loader, 0, 1);
  const Trace trace = only(tracing.stop());
  CHECK(trace.spans.size() <= 16);
  CHECK(trace.lost.front() > 0);
  CHECK(trace.lost_marks > 0);
  CHECK(nests(trace));
  CHECK(trace.spans.back().batch >= 40);
}

TEST_CASE("a runtime is traced once at a time, and with options that make sense") {
  const Runtime runtime({.threads = 1});
  Tracing tracing(runtime);
  CHECK_THROWS_AS((Tracing(runtime)), ConfigError);
  const Runtime other({.threads = 1});
  CHECK_THROWS_AS(Tracing(other, TraceOptions{.events_per_thread = 0}), ConfigError);
  CHECK_THROWS_AS(Tracing(other, TraceOptions{.events_per_thread = std::size_t{1} << 40}),
                  ConfigError);
  CHECK(tracing.stop().empty());
  CHECK(tracing.stop().empty());
  CHECK_NOTHROW(Tracing{runtime});
}

TEST_CASE("loaders that begin or end in the window are in it, and one that came before it not") {
  Watchdog watchdog("loaders that come and go");
  const Runtime runtime({.threads = 2});
  {
    Loader before = loader_of(runtime, {});
    stream_of(before, 0, 1);
  }
  Tracing tracing(runtime);
  {
    Loader ended = loader_of(runtime, {.records = 16});
    stream_of(ended, 0, 1);
  }
  Loader alive = loader_of(runtime, {.records = 32});
  stream_of(alive, 0, 1);
  const std::vector<Trace> traces = tracing.stop();
  REQUIRE(traces.size() == 2);
  CHECK(traces[0].batches.size() == 2);
  CHECK(traces[1].batches.size() == 4);
}

TEST_CASE("batches of an epoch that was left are dropped in the trace") {
  Watchdog watchdog("dropped batches");
  const Runtime runtime({.threads = 2});
  Loader loader = loader_of(runtime, {.records = 400});
  Tracing tracing(runtime);
  for (Batch& batch : loader.epoch(0)) {
    CHECK(batch.size() == 8);
    break;
  }
  stream_of(loader, 0, 1);
  const Trace trace = only(tracing.stop());
  CHECK(std::ranges::any_of(trace.batches,
                            [](const TraceBatch& batch) { return batch.dropped_ns >= 0; }));
  CHECK(whole_ways(trace) == 51);
}

TEST_CASE("a trace may be read, ended and begun anew while threads work") {
  Watchdog watchdog("reading a trace under work");
  const Runtime runtime({.threads = 4});
  Loader loader = loader_of(runtime, {.records = 200});
  std::atomic<bool> done{false};
  std::jthread reader([&] {
    while (!done) {
      Tracing tracing(runtime, {.events_per_thread = 64});
      for (int i = 0; i < 3; ++i) {
        for (const Trace& trace : tracing.read())
          CHECK(nests(trace));
        std::this_thread::yield();
      }
    }
  });
  const std::vector<std::string> traced = stream_of(loader, 0, scaled(20, 4)).batches;
  done = true;
  reader.join();
  Loader untraced = loader_of(runtime, {.records = 200});
  CHECK(same(traced, stream_of(untraced, 0, scaled(20, 4)).batches));
}

TEST_CASE("threads at work are named with what they are in") {
  Watchdog watchdog("threads at work");
  const Runtime runtime({.threads = 1});
  CHECK(threads_at_work(runtime).empty());
  std::atomic<bool> go{false};
  Loader loader = Pipeline::from(table({.records = 8}))
                      .named("train")
                      .then([&go](Sample&) { go.wait(false); }, {.name = "stuck"})
                      .batch({.size = 8})
                      .build({.join_epochs = false, .runtime = runtime});
  std::jthread consumer([&] { stream_of(loader, 0, 1); });
  const auto stuck = [&] {
    const auto at = threads_at_work(runtime);
    return at.size() == 1 && at.front().stage == "stuck";
  };
  CHECK(eventually(stuck));
  const auto at = threads_at_work(runtime).front();
  CHECK(at.thread == "headrace-0");
  CHECK(at.loader == "train");
  CHECK(at.sample.file == "row-0");
  go = true;
  go.notify_all();
}
