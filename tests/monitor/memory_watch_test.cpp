#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory_watch.h>

#include "fake_root.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::FakeRoot;
using namespace std::chrono_literals;

namespace {

void hold(const FakeRoot& root, std::uint64_t kib) {
  root.write("proc/self/status", "RssAnon:\t " + std::to_string(kib) + " kB\nRssShmem:\t 0 kB\n");
}

MemoryWatchOptions options_for(const FakeRoot& root) {
  return {.limit = 1000 * 1024, .period = 1h, .root = root.path()};
}

}  // namespace

TEST_CASE("a watch calls back once on going over its limit and once on coming back") {
  const FakeRoot root;
  hold(root, 900);
  std::mutex mutex;
  std::vector<MemoryEvent> events;
  MemoryWatch watch(options_for(root), [&](const MemoryEvent& event) {
    const std::lock_guard lock(mutex);
    events.push_back(event);
  });
  for (const std::uint64_t kib : {1000, 1001, 1200, 960, 950, 949, 900}) {
    hold(root, kib);
    watch.look();
  }
  const std::lock_guard lock(mutex);
  REQUIRE(events.size() == 2);
  CHECK(events[0].over);
  CHECK(events[0].memory.held() == 1001 * 1024);
  CHECK(events[0].sentence().find("is over its limit of 1000 KiB") != std::string::npos);
  CHECK_FALSE(events[1].over);
  CHECK(events[1].memory.held() == 949 * 1024);
  CHECK(watch.peak_held() == 1200 * 1024);
  CHECK_FALSE(watch.over());
}

TEST_CASE("a watch looks by itself") {
  const FakeRoot root;
  hold(root, 2000);
  std::atomic<int> calls = 0;
  auto options = options_for(root);
  options.period = 5ms;
  MemoryWatch watch(options, [&](const MemoryEvent&) { ++calls; });
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (calls == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  CHECK(calls == 1);
  hold(root, 10);
  while (calls == 1 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  CHECK(calls == 2);
}

TEST_CASE("a watch with a long period ends at once") {
  const FakeRoot root;
  const auto start = std::chrono::steady_clock::now();
  { const MemoryWatch watch(options_for(root), {}); }
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("memory that a driver locked counts against the limit") {
  const FakeRoot root;
  hold(root, 600);
  auto options = options_for(root);
  options.driver_locked = [] { return std::uint64_t{600} * 1024; };
  MemoryWatch watch(options, {});
  watch.look();
  CHECK(watch.over());
  CHECK(watch.last().held() == 1200 * 1024);
}

TEST_CASE("without a limit a watch only keeps the peak") {
  const FakeRoot root;
  hold(root, 600);
  auto options = options_for(root);
  options.limit = 0;
  MemoryWatch watch(options, [](const MemoryEvent&) { FAIL("called back without a limit"); });
  watch.look();
  CHECK_FALSE(watch.over());
  CHECK(watch.peak_held() == 600 * 1024);
}

TEST_CASE("a period of zero is refused") {
  CHECK_THROWS_AS(MemoryWatch({.limit = 1, .period = 0ms}, {}), headrace::ConfigError);
}
