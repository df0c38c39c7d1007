#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t resumed_records = 101;
constexpr std::int64_t resumed_epochs = 2;

Loader loader_of(const TableOptions& options, std::int64_t size, const Runtime& runtime,
                 bool fuse = true) {
  return stream_on(options).batch({.size = size}).build({.fuse = fuse, .runtime = runtime});
}

/// All that comes after `position`, to the end of the last epoch.
std::vector<std::string> rest_after(Loader& loader, const Position& position) {
  loader.seek(position);
  return stream_of(loader, position.epoch, resumed_epochs - position.epoch).rows;
}

std::vector<std::string> from(const std::vector<std::string>& rows, std::size_t first) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end()};
}

}  // namespace

TEST_CASE("seek to any batch gives the rest of the stream, on other threads and batch sizes") {
  Watchdog watchdog("seek to every batch");
  const Runtime two({.threads = 2});
  const std::vector<Runtime> others{Runtime({.threads = 1}), two, Runtime({.threads = 8})};
  for (bool gathers : {false, true}) {
    for (bool blocking : {false, true}) {
      const TableOptions options{
          .records = resumed_records, .gathers = gathers, .blocking = blocking};
      Loader uninterrupted = loader_of(options, 8, two);
      const Delivered all = stream_of(uninterrupted, 0, resumed_epochs);
      REQUIRE(all.rows.size() == resumed_epochs * resumed_records);
      for (const Runtime& runtime : others) {
        for (std::int64_t size : {8, 5, 64}) {
          Loader resumed = loader_of(options, size, runtime, runtime.threads() != 2);
          std::size_t done = 0;
          for (const Position& after : all.after) {
            done = static_cast<std::size_t>(after.epoch * resumed_records + after.position);
            CAPTURE(done);
            CAPTURE(size);
            CAPTURE(runtime.threads());
            CHECK(same(rest_after(resumed, after), from(all.rows, done)));
          }
          CHECK(done == all.rows.size());
        }
      }
    }
  }
}

TEST_CASE("a position may name any sample, not only the edge of a batch") {
  Watchdog watchdog("seek to every sample");
  const Runtime runtime({.threads = 2});
  Loader loader = loader_of({.records = 37}, 8, runtime);
  const std::vector<std::string> all = stream_of(loader, 0, 1).rows;
  for (std::int64_t place = 0; place <= 37; ++place) {
    loader.seek({.seed = 7, .epoch = 0, .position = place});
    CHECK(same(stream_of(loader, 0, 1).rows, from(all, static_cast<std::size_t>(place))));
  }
}

TEST_CASE("inside the loop the position is after the batch in hand, however much was prepared") {
  Watchdog watchdog("position in the loop");
  Loader loader = loader_of({.records = resumed_records}, 8, Runtime({.threads = 2}));
  CHECK(loader.position() == Position{.seed = 7});
  std::int64_t done = 0;
  for (Batch& batch : loader.epoch(0)) {
    done += batch.size();
    CHECK(batch.position_after() == Position{.seed = 7, .epoch = 0, .position = done});
    CHECK(loader.position() == batch.position_after());
  }
  CHECK(done == resumed_records);
}

TEST_CASE("after the loop the position continues with the next epoch") {
  Watchdog watchdog("position after the loop");
  const Runtime runtime({.threads = 2});
  Loader loader = loader_of({.records = resumed_records}, 8, runtime);
  const std::vector<std::string> all = stream_of(loader, 0, resumed_epochs).rows;
  Loader one = loader_of({.records = resumed_records}, 8, runtime);
  stream_of(one, 0, 1);
  Loader resumed = loader_of({.records = resumed_records}, 8, runtime);
  CHECK(same(rest_after(resumed, one.position()), from(all, resumed_records)));
}

TEST_CASE("leaving the loop early keeps the place") {
  Watchdog watchdog("leaving early");
  const Runtime runtime({.threads = 2});
  Loader loader = loader_of({.records = resumed_records}, 8, runtime);
  const std::vector<std::string> all = stream_of(loader, 0, resumed_epochs).rows;
  for (int stop_after = 1; stop_after <= 12; ++stop_after) {
    int seen = 0;
    for (Batch& batch : loader.epoch(0)) {
      CHECK(batch.number() == seen);
      if (++seen == stop_after) break;
    }
    CHECK(loader.position().position == 8 * stop_after);
    const Position place = loader.position();
    CHECK(same(rest_after(loader, place), from(all, static_cast<std::size_t>(8 * stop_after))));
  }
}

TEST_CASE("next() goes on at the place that seek() named") {
  Watchdog watchdog("seek and next");
  Loader loader = loader_of({.records = resumed_records}, 8, Runtime({.threads = 2}));
  const Delivered all = stream_of(loader, 0, 1);
  loader.seek(all.after[3]);
  const NextBatch next = loader.next();
  REQUIRE(next.status == NextBatch::Status::ready);
  CHECK(same(rows_of(next.batch), {all.rows.begin() + 32, all.rows.begin() + 40}));
  CHECK(next.batch.position_after() == all.after[4]);
}

TEST_CASE("twin: a place that is off by one sample gives another stream") {
  Watchdog watchdog("a place off by one");
  Loader loader = loader_of({.records = resumed_records}, 8, Runtime({.threads = 2}));
  const Delivered all = stream_of(loader, 0, resumed_epochs);
  Position wrong = all.after[2];
  wrong.position += 1;
  CHECK_FALSE(same(rest_after(loader, wrong), from(all.rows, 24)));
}

TEST_CASE("a position of another stream is refused") {
  Loader loader = loader_of({.records = resumed_records}, 8, Runtime({.threads = 1}));
  CHECK_THROWS_AS(loader.seek({.seed = 8}), ConfigError);
  CHECK_THROWS_AS(loader.seek({.seed = 7, .order_version = 2}), ConfigError);
  CHECK_THROWS_AS(loader.seek({.seed = 7, .position = resumed_records + 1}), ConfigError);
  CHECK_THROWS_AS(loader.seek({.seed = 7, .position = -1}), ConfigError);
  CHECK_THROWS_AS(loader.seek({.seed = 7, .epoch = -1}), ConfigError);
  CHECK_NOTHROW(loader.seek({.seed = 7, .epoch = 5, .position = resumed_records}));
}
