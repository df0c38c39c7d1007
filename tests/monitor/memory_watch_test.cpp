#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_watch.h>

#include "eventually.h"
#include "fake_root.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::eventually;
using headrace::test::FakeRoot;
using namespace std::chrono_literals;

namespace {

void hold(const FakeRoot& root, std::uint64_t kib) {
  root.write("proc/self/status", "RssAnon:\t " + std::to_string(kib) + " kB\nRssShmem:\t 0 kB\n");
}

MemoryWatchOptions options_for(const FakeRoot& root) {
  return {.period = 1h, .root = root.path()};
}

}  // namespace

TEST_CASE("a watch says at each look what is held, and keeps the most of it") {
  const FakeRoot root;
  hold(root, 900);
  std::atomic<std::uint64_t> seen{0};
  auto options = options_for(root);
  options.on_look = [&](const ProcessMemory& memory) { seen = memory.held(); };
  MemoryWatch watch(options);
  for (const std::uint64_t kib : {1000, 1200, 950}) {
    hold(root, kib);
    watch.look();
    CHECK(seen == kib * 1024);
    CHECK(watch.last().held() == kib * 1024);
  }
  CHECK(watch.peak_held() == 1200 * 1024);
}

TEST_CASE("a watch looks by itself, and goes on whatever a look throws") {
  const FakeRoot root;
  hold(root, 2000);
  std::atomic<int> looks = 0;
  auto options = options_for(root);
  options.period = 5ms;
  options.on_look = [&](const ProcessMemory&) {
    ++looks;
    throw std::runtime_error("no memory for words");
  };
  const MemoryWatch watch(options);
  CHECK(eventually([&] { return looks >= 3; }));
  CHECK(watch.peak_held() == 2000 * 1024);
}

TEST_CASE("a watch with a long period ends at once") {
  const FakeRoot root;
  const auto start = std::chrono::steady_clock::now();
  { const MemoryWatch watch(options_for(root)); }
  CHECK(std::chrono::steady_clock::now() - start < 60s);
}

TEST_CASE("memory that a driver locked is held, too") {
  const FakeRoot root;
  hold(root, 600);
  auto options = options_for(root);
  options.driver_locked = [] { return std::uint64_t{600} * 1024; };
  MemoryWatch watch(options);
  watch.look();
  CHECK(watch.last().held() == 1200 * 1024);
  CHECK(watch.peak_held() == 1200 * 1024);
}

TEST_CASE("a period of zero is refused") {
  CHECK_THROWS_AS(MemoryWatch({.period = 0ms}), headrace::ConfigError);
}
