#include <headrace/engine/stats/internal/trace_rings.h>
#include <headrace/tests/engine/test_support.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;
using headrace::detail::TraceRing;

namespace {

TraceRing::Event event(std::int64_t number) {
  return {.kind = TraceRing::Kind::ready,
          .name = static_cast<std::uint16_t>(number % 60000),
          .rows = static_cast<std::uint32_t>(number),
          .start = number,
          .duration = 2 * number,
          .batch = 3 * number,
          .epoch = static_cast<std::int32_t>(number % 1000),
          .row = static_cast<std::int32_t>(-1 - number % 1000),
          .index = 4 * number};
}

bool same(const TraceRing::Event& a, const TraceRing::Event& b) {
  return a.kind == b.kind && a.name == b.name && a.rows == b.rows && a.start == b.start &&
         a.duration == b.duration && a.batch == b.batch && a.epoch == b.epoch && a.row == b.row &&
         a.index == b.index;
}

}  // namespace

TEST_CASE("a ring that is not full gives every event as it was put") {
  TraceRing ring(16);
  std::vector<TraceRing::Event> events;
  CHECK(ring.read(0, events) == 0);
  for (std::int64_t i = 0; i < 15; ++i)
    ring.put(event(i));
  CHECK(ring.read(0, events) == 0);
  REQUIRE(events.size() == 15);
  for (std::int64_t i = 0; i < 15; ++i)
    CHECK(same(events[static_cast<std::size_t>(i)], event(i)));
}

TEST_CASE("negative and large numbers come back") {
  TraceRing ring(2);
  const TraceRing::Event put{.kind = TraceRing::Kind::counts,
                             .name = 65535,
                             .rows = 4294967295U,
                             .start = -5,
                             .duration = std::int64_t{1} << 62,
                             .batch = -1,
                             .epoch = -7,
                             .row = 2147483647,
                             .index = -1};
  ring.put(put);
  std::vector<TraceRing::Event> events;
  ring.read(0, events);
  REQUIRE(events.size() == 1);
  CHECK(same(events.front(), put));
}

TEST_CASE("a ring that wraps keeps the newest and says how many are lost") {
  TraceRing ring(16);
  for (std::int64_t i = 0; i < 100; ++i)
    ring.put(event(i));
  std::vector<TraceRing::Event> events;
  const std::int64_t lost = ring.read(0, events);
  CHECK(lost + static_cast<std::int64_t>(events.size()) == 100);
  CHECK(events.size() >= 15);  // of the oldest nobody knows whether it is being written over
  CHECK(events.size() <= 16);
  CHECK(same(events.back(), event(99)));
  for (std::size_t i = 1; i < events.size(); ++i)
    CHECK(events[i].start == events[i - 1].start + 1);
}

TEST_CASE("a ring read from a place on gives what came behind it") {
  TraceRing ring(16);
  for (std::int64_t i = 0; i < 20; ++i)
    ring.put(event(i));
  std::vector<TraceRing::Event> events{event(7)};
  CHECK(ring.read(15, events) == 0);
  REQUIRE(events.size() == 6);
  CHECK(same(events[0], event(7)));
  CHECK(same(events[1], event(15)));
}

TEST_CASE("whoever reads while a thread writes sees whole events in their order") {
  Watchdog watchdog("reading a ring");
  TraceRing ring(64);
  std::atomic<bool> done{false};
  const std::int64_t all = scaled(2'000'000, 200'000);
  std::atomic<std::int64_t> seen{0};
  std::jthread writer([&] {
    for (std::int64_t i = 0; i < all || seen == 0; ++i)  // the reader may begin late
      ring.put(event(i));
    done = true;
  });
  std::uint64_t since = 0;
  std::int64_t torn = 0;
  while (!done) {
    std::vector<TraceRing::Event> events;
    ring.read(since, events);
    for (const TraceRing::Event& one : events) {
      if (!same(one, event(one.start)) || one.start < static_cast<std::int64_t>(since)) ++torn;
      since = static_cast<std::uint64_t>(one.start) + 1;
      ++seen;
    }
  }
  CHECK(torn == 0);
}
