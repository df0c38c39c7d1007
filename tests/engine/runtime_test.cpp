#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <clocale>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <sched.h>

using namespace headrace;
using namespace headrace::test;

TEST_CASE("a runtime has the sizes it was asked for, or those of the machine") {
  const Runtime asked({.threads = 3, .io_threads = 2, .memory = 64_MiB});
  CHECK(asked.threads() == 3);
  CHECK(asked.io_threads() == 2);
  CHECK(asked.memory_limit() == 64_MiB);
  CHECK(asked.memory_in_use() == 0);
  const Runtime machine;
  CHECK(machine.threads() == usable_cores());
  CHECK(machine.io_threads() == 4);
  CHECK(usable_cores() >= 1);
}

TEST_CASE("negative sizes of a runtime are refused") {
  CHECK_THROWS_AS(Runtime({.threads = -1}), ConfigError);
  CHECK_THROWS_AS(Runtime({.io_threads = -2}), ConfigError);
}

TEST_CASE("usable cores follow the affinity of the process") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
  const int narrowed = usable_cores();
  REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
  CHECK(narrowed == 1);
}

TEST_CASE("copies of a handle share the runtime, and the process has one default") {
  const Runtime runtime({.threads = 2});
  const Runtime copy = runtime;
  std::optional<Loader> loader =
      Pipeline::from(table({.records = 64})).batch({.size = 8}).build({.runtime = copy});
  CHECK(loader->next().status == NextBatch::Status::ready);
  CHECK(runtime.memory_in_use() > 0);
  CHECK(runtime.memory_in_use() == copy.memory_in_use());
  loader.reset();
  CHECK(runtime.memory_in_use() == 0);
  CHECK(Runtime::process_default().threads() == Runtime::process_default().threads());
}

TEST_CASE("threads start with the first loader and end with the last handle") {
  Watchdog watchdog("threads of a runtime");
  const int before = settled_thread_count();
  {
    std::optional<Runtime> runtime(std::in_place, RuntimeOptions{.threads = 3, .io_threads = 2});
    Loader loader = Pipeline::from(table({.records = 64, .blocking = true}))
                        .batch({.size = 8})
                        .build({.runtime = *runtime});
    CHECK(loader.next().status == NextBatch::Status::ready);
    CHECK(thread_count() >= before + 5);
    runtime.reset();
    CHECK(loader.next().status == NextBatch::Status::ready);
  }
  CHECK(eventually([before] { return thread_count() == before; }));
}

TEST_CASE("loaders on one runtime run side by side without touching each other's batches") {
  Watchdog watchdog("two loaders at once");
  const Runtime runtime({.threads = 2});
  auto build = [&runtime](std::uint64_t seed, bool blocking) {
    return work_on(table({.records = 500, .blocking = blocking}), true, seed)
        .batch({.size = 16})
        .build({.runtime = runtime});
  };
  std::vector<std::vector<std::string>> alone;
  for (std::uint64_t seed : {1, 2, 3}) {
    Loader loader = build(seed, false);
    alone.push_back(stream_of(loader, 0, 2).batches);
  }
  std::vector<std::vector<std::string>> together(3);
  {
    std::vector<std::jthread> consumers;
    for (std::size_t k = 0; k < 3; ++k) {
      consumers.emplace_back([&, k] {
        Loader loader = build(k + 1, k == 1);
        together[k] = stream_of(loader, 0, 2).batches;
      });
    }
  }
  for (std::size_t k = 0; k < 3; ++k)
    CHECK(same(together[k], alone[k]));
}

TEST_CASE("a loader inside a step of another loader does not hang, on a runtime of its own") {
  Watchdog watchdog("nested loaders");
  const Runtime outer({.threads = 2});
  const Runtime inner({.threads = 1});
  Loader loader =
      Pipeline::from(table({.records = 8}))
          .then([&inner](Sample& sample) {
            Loader nested =
                Pipeline::from(table({.records = 8})).batch({.size = 4}).build({.runtime = inner});
            std::int64_t count = 0;
            for (Batch& batch : nested.epoch(0))
              count += batch.size();
            sample.set_scalar<std::int64_t>("index", count);
          })
          .batch({.size = 4})
          .build({.runtime = outer});
  for (Batch& batch : loader.epoch(0))
    for (std::int64_t count : indices_of(batch))
      CHECK(count == 8);
}

TEST_CASE("the process is left as it was: affinity, signals, locale") {
  Watchdog watchdog("a good guest");
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  sched_getaffinity(0, sizeof(affinity), &affinity);
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  std::vector<void (*)(int)> handlers;
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    handlers.push_back(action.sa_handler);
  }
  {
    Loader loader = work_on(table({.records = 64, .blocking = true}), true)
                        .batch({.size = 8})
                        .build({.runtime = Runtime({.threads = 2})});
    CHECK(stream_of(loader, 0, 1).rows.size() == 64);
  }
  cpu_set_t after;
  CPU_ZERO(&after);
  sched_getaffinity(0, sizeof(after), &after);
  CHECK(CPU_EQUAL(&affinity, &after));
  CHECK(std::setlocale(LC_ALL, nullptr) == locale);
  std::size_t k = 0;
  for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    CHECK((action.sa_handler == handlers[k++]));
  }
}
