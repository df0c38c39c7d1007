#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// How often each record was delivered in one epoch.
std::vector<int> deliveries(Loader& loader, std::int64_t epoch, std::int64_t records) {
  std::vector<int> times(static_cast<std::size_t>(records), 0);
  for (Batch& batch : loader.epoch(epoch))
    for (std::int64_t index : indices_of(batch))
      times.at(static_cast<std::size_t>(index)) += 1;
  return times;
}

bool all_once(const std::vector<int>& times) {
  return std::all_of(times.begin(), times.end(), [](int count) { return count == 1; });
}

bool right_content(const Batch& batch) {
  const auto index = batch["index"].values<std::int64_t>();
  const Tensor value = batch["value"];
  for (std::int64_t row = 0; row < batch.size(); ++row)
    for (int k = 0; k < TableSource::width; ++k)
      if (value.row(row).data<std::uint8_t>()[k] !=
          TableSource::value_at(index[static_cast<std::size_t>(row)], k))
        return false;
  return true;
}

}  // namespace

TEST_CASE(
    "a batch holds the rows of the order, with the names, shapes and numbers that were promised") {
  Watchdog watchdog("content of batches");
  for (bool gathers : {false, true}) {
    Loader loader = Pipeline::from(table({.records = 20, .gathers = gathers}))
                        .batch({.size = 8})
                        .build({.runtime = Runtime({.threads = 2})});
    CHECK(loader.batches_per_epoch() == 3);
    CHECK(loader.samples_per_epoch() == 20);
    REQUIRE(loader.schema().find("value") != nullptr);
    CHECK(loader.schema().find("value")->shape == Shape{16});
    std::int64_t place = 0;
    std::int64_t number = 0;
    for (Batch& batch : loader.epoch(3)) {
      CHECK(batch.epoch() == 3);
      CHECK(batch.number() == number++);
      CHECK(batch.size() == (number < 3 ? 8 : 4));
      CHECK(batch["value"].shape() == Shape{batch.size(), 16});
      CHECK(batch["index"].shape() == Shape{batch.size()});
      CHECK(batch.has("value"));
      CHECK_FALSE(batch.has("picture"));
      CHECK(right_content(batch));
      const std::vector<Origin> origins = batch.origins();
      REQUIRE(std::ssize(origins) == batch.size());
      for (std::int64_t row = 0; row < batch.size(); ++row) {
        const Origin& origin = origins[static_cast<std::size_t>(row)];
        CHECK(origin.index == place);
        CHECK(origin.position == place);
        CHECK(origin.row == row);
        CHECK(origin.batch == batch.number());
        CHECK(origin.epoch == 3);
        CHECK(origin.file == "row-" + std::to_string(place));
        ++place;
      }
    }
    CHECK(place == 20);
  }
}

TEST_CASE("a field that is not there is refused with the fields that are") {
  Watchdog watchdog("unknown field");
  Loader loader = Pipeline::from(table({.records = 4}))
                      .batch({.size = 2})
                      .build({.runtime = Runtime({.threads = 1})});
  const NextBatch next = loader.next();
  try {
    next.batch["picture"];
    FAIL("no error");
  } catch (const PipelineError& error) {
    CHECK(std::string(error.what()).find("value") != std::string::npos);
    CHECK(std::string(error.what()).find("index") != std::string::npos);
  }
}

TEST_CASE(
    "each sample reaches the trainer exactly once an epoch, for small, prime and large counts") {
  Watchdog watchdog("exactly once");
  const Runtime runtime({.threads = 2});
  for (std::int64_t records : {1, 2, 3, 5, 7, 31, 64, 97, 1000, 9973, 100'000, 1'000'000}) {
    if (sanitized && records > 100'000) continue;
    const bool large = records >= 9973;
    Loader loader = Pipeline::from(table({.records = records, .gathers = large}))
                        .order(Shuffled{.seed = 11})
                        .batch({.size = large ? 8192 : 8})
                        .build({.runtime = runtime});
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      CAPTURE(records);
      CHECK(all_once(deliveries(loader, epoch, records)));
    }
  }
}

TEST_CASE("twin: draws with replacement are not exactly once") {
  Watchdog watchdog("with replacement");
  Loader loader = Pipeline::from(table({.records = 97}))
                      .order(Weighted{.weights = std::vector<double>(97, 1.0), .seed = 1})
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  CHECK_FALSE(all_once(deliveries(loader, 0, 97)));
}

TEST_CASE("the tail of an epoch is shorter, dropped or padded as asked") {
  Watchdog watchdog("tails");
  const Runtime runtime({.threads = 2});
  auto sizes = [&runtime](Tail tail, std::int64_t records) {
    Loader loader = Pipeline::from(table({.records = records}))
                        .batch({.size = 8, .tail = tail})
                        .build({.runtime = runtime});
    std::vector<std::int64_t> all;
    for (Batch& batch : loader.epoch(0))
      all.push_back(batch.size());
    CHECK(std::ssize(all) == loader.batches_per_epoch());
    return all;
  };
  CHECK((sizes(Tail::shorter, 20) == std::vector<std::int64_t>{8, 8, 4}));
  CHECK((sizes(Tail::drop, 20) == std::vector<std::int64_t>{8, 8}));
  CHECK((sizes(Tail::pad, 20) == std::vector<std::int64_t>{8, 8, 8}));
  CHECK((sizes(Tail::shorter, 16) == std::vector<std::int64_t>{8, 8}));
  CHECK((sizes(Tail::drop, 16) == std::vector<std::int64_t>{8, 8}));
  CHECK((sizes(Tail::pad, 3) == std::vector<std::int64_t>{8}));
}

TEST_CASE("padding is zero and named by the field valid, also in memory that was used before") {
  Watchdog watchdog("padding");
  Loader loader = Pipeline::from(table({.records = 20}))
                      .batch({.size = 8, .tail = Tail::pad})
                      .build({.prefetch = 1, .runtime = Runtime({.threads = 2})});
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    std::int64_t valid = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      const auto flags = batch["valid"].values<bool>();
      for (std::int64_t row = 0; row < batch.size(); ++row) {
        if (flags[static_cast<std::size_t>(row)]) {
          ++valid;
          continue;
        }
        CHECK(batch.number() == 2);
        CHECK(batch["index"].row(row).item<std::int64_t>() == 0);
        const auto value = batch["value"].row(row).values<std::uint8_t>();
        CHECK(std::all_of(value.begin(), value.end(), [](auto byte) { return byte == 0; }));
      }
    }
    CHECK(valid == 20);
  }
}

TEST_CASE("next() delivers an epoch, says end once, and goes on with the following epoch") {
  Watchdog watchdog("next");
  Loader loader = Pipeline::from(table({.records = 20}))
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t number = 0; number < 3; ++number) {
      const NextBatch next = loader.next();
      REQUIRE(next.status == NextBatch::Status::ready);
      CHECK(next.batch.epoch() == epoch);
      CHECK(next.batch.number() == number);
    }
    const NextBatch last = loader.next();
    CHECK(last.status == NextBatch::Status::end);
    CHECK_FALSE(last.batch);
  }
}

TEST_CASE("next() with a time limit says timeout and loses nothing") {
  Watchdog watchdog("timeout");
  std::atomic<bool> open = false;
  Loader loader = Pipeline::from(table({.records = 16, .blocking = true},
                                       [&open](std::int64_t) {
                                         while (!open)
                                           std::this_thread::sleep_for(1ms);
                                       }))
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  for (int k = 0; k < 3; ++k)
    CHECK(loader.next(5ms).status == NextBatch::Status::timeout);
  CHECK(loader.next(0ns).status == NextBatch::Status::timeout);
  CHECK_FALSE(loader.try_next().has_value());
  open = true;
  const NextBatch next = loader.next(60s);
  REQUIRE(next.status == NextBatch::Status::ready);
  CHECK(next.batch.number() == 0);
}

TEST_CASE("next() waits for the longest times that there are") {
  Watchdog watchdog("long timeouts");
  using std::chrono::nanoseconds;
  for (const nanoseconds timeout :
       {nanoseconds::max() - 1ns, nanoseconds::max() / 2 * 2, nanoseconds(24h * 365 * 290)}) {
    std::atomic<bool> open = false;
    Loader loader = Pipeline::from(table({.records = 16, .blocking = true},
                                         [&open](std::int64_t) {
                                           while (!open)
                                             std::this_thread::sleep_for(1ms);
                                         }))
                        .batch({.size = 8})
                        .build({.runtime = Runtime({.threads = 2})});
    std::jthread other([&open] {
      std::this_thread::sleep_for(20ms);
      open = true;
    });
    CHECK(loader.next(timeout).status == NextBatch::Status::ready);
    CHECK(loader.next(nanoseconds::min()).status != NextBatch::Status::stopped);
  }
}

TEST_CASE("a stop token ends the wait from another thread") {
  Watchdog watchdog("stop token");
  std::atomic<bool> open = false;
  Loader loader = Pipeline::from(table({.records = 16, .blocking = true},
                                       [&open](std::int64_t) {
                                         while (!open)
                                           std::this_thread::sleep_for(1ms);
                                       }))
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  std::stop_source stop;
  std::jthread other([&stop] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  CHECK(loader.next(std::chrono::nanoseconds::max(), stop.get_token()).status ==
        NextBatch::Status::stopped);
  CHECK(loader.next(10s, stop.get_token()).status == NextBatch::Status::stopped);
  open = true;
  const NextBatch next = loader.next(60s);
  REQUIRE(next.status == NextBatch::Status::ready);
  CHECK(next.batch.number() == 0);
}

TEST_CASE("try_next() never waits and gives every batch in order") {
  Watchdog watchdog("try_next");
  Loader loader = Pipeline::from(table({.records = 64}))
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  std::int64_t number = 0;
  while (number < 8) {
    if (std::optional<Batch> batch = loader.try_next()) {
      CHECK(batch->number() == number++);
      CHECK(batch->epoch() == 0);
    } else {
      std::this_thread::sleep_for(100us);
    }
  }
  CHECK_FALSE(loader.try_next().has_value());
}

TEST_CASE("the next epoch is prepared while this one is finished, unless that is switched off") {
  Watchdog watchdog("epochs join");
  for (bool join : {true, false}) {
    auto source = table({.records = 32});
    Loader loader =
        Pipeline::from(source)
            .batch({.size = 8})
            .build({.prefetch = 2, .join_epochs = join, .runtime = Runtime({.threads = 2})});
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.epoch() == 0);
    if (join) {
      CHECK(eventually([&source] { return source->reads() > 32; }));
    } else {
      std::this_thread::sleep_for(50ms);
      CHECK(source->reads() == 32);
    }
    std::int64_t number = 0;
    for (Batch& batch : loader.epoch(1)) {
      CHECK(batch.epoch() == 1);
      CHECK(batch.number() == number++);
    }
    CHECK(number == 4);
  }
}

TEST_CASE("an epoch out of turn is delivered whole, though another one was prepared") {
  Watchdog watchdog("an epoch out of turn");
  const Runtime runtime({.threads = 2});
  auto build = [&runtime] {
    return work_on(table({.records = 50}), true).batch({.size = 8}).build({.runtime = runtime});
  };
  Loader straight = build();
  const std::vector<std::string> fifth = stream_of(straight, 5, 1).batches;
  Loader jumping = build();
  for (std::int64_t epoch : {0, 3, 1, 5}) {
    const std::vector<std::string> batches = stream_of(jumping, epoch, 1).batches;
    CHECK(batches.size() == 7);
    if (epoch == 5) CHECK(same(batches, fifth));
  }
}
