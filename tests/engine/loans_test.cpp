#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

Loader loader_of(int loans, int prefetch = 2, std::int64_t records = 400) {
  return work_on(table({.records = records}), true)
      .batch({.size = 8})
      .build({.prefetch = prefetch, .loans = loans, .runtime = Runtime({.threads = 2})});
}

/// Takes batches and keeps them until the loader refuses; the message of the refusal.
std::string exhaust(Loader& loader, std::deque<Batch>& held) {
  try {
    while (true) {
      NextBatch next = loader.next();
      REQUIRE(next.status == NextBatch::Status::ready);
      held.push_back(std::move(next.batch));
    }
  } catch (const PipelineError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("when every slab is on loan the next request fails with the count and the cure") {
  Watchdog watchdog("all slabs on loan");
  for (int loans : {1, 3}) {
    Loader loader = loader_of(loans);
    std::deque<Batch> held;
    const std::string message = exhaust(loader, held);
    CAPTURE(message);
    CHECK(std::ssize(held) >= loans);
    CHECK(std::ssize(held) <= loader.stats().slabs);
    CHECK(message.find(std::to_string(held.size())) != std::string::npos);
    CHECK(message.find("clone") != std::string::npos);
    CHECK(message.find("loans") != std::string::npos);
  }
}

TEST_CASE("after a loan ended the loader goes on where it was, and no batch is lost") {
  Watchdog watchdog("loans that end");
  Loader uninterrupted = loader_of(1);
  const std::vector<std::string> all = stream_of(uninterrupted, 0, 1).batches;
  Loader loader = loader_of(2);
  std::deque<Batch> held;
  std::size_t number = 0;
  auto check_front = [&] {
    CHECK((bytes_of(held.front()) == all.at(number++)));
    held.pop_front();
  };
  for (int round = 0; round < 5; ++round) {
    exhaust(loader, held);
    CHECK_THROWS_AS(loader.next(), PipelineError);
    check_front();
    check_front();
  }
  while (!held.empty())
    check_front();
  const NextBatch next = loader.next();
  REQUIRE(next.status == NextBatch::Status::ready);
  CHECK(next.batch.number() == static_cast<std::int64_t>(number));
}

TEST_CASE("try_next() and a time limit do not hang either when every slab is on loan") {
  Watchdog watchdog("all slabs on loan, with a limit");
  Loader loader = loader_of(1);
  std::deque<Batch> held;
  exhaust(loader, held);
  CHECK_THROWS_AS(loader.next(60s), PipelineError);
  held.pop_front();
  CHECK(loader.next(60s).status == NextBatch::Status::ready);
}

TEST_CASE("as many batches as were asked for may be held, and they do not change") {
  Watchdog watchdog("batches in hand");
  Loader uninterrupted = loader_of(1);
  const std::vector<std::string> all = stream_of(uninterrupted, 0, 1).batches;
  Loader loader = loader_of(4, 1);
  std::deque<Batch> held;
  std::size_t number = 0;
  for (Batch& batch : loader.epoch(0)) {
    held.push_back(batch);
    if (held.size() < 4) continue;
    CHECK((bytes_of(held.front()) == all.at(number++)));
    held.pop_front();
  }
  CHECK(number == all.size() - 3);
}

TEST_CASE("a batch may be dropped on any thread") {
  Watchdog watchdog("dropped elsewhere");
  Loader uninterrupted = loader_of(1);
  const std::vector<std::string> all = stream_of(uninterrupted, 0, 1).batches;
  Loader loader = loader_of(3);
  std::size_t number = 0;
  std::jthread last;
  for (Batch& batch : loader.epoch(0)) {
    const std::string& expected = all.at(number++);
    last = std::jthread([batch, &expected] {
      std::this_thread::sleep_for(200us);
      if (bytes_of(batch) != expected) std::abort();
    });
  }
  CHECK(number == all.size());
}

TEST_CASE("rows() is a view on the same loan: no copy, and it keeps the slab") {
  Watchdog watchdog("rows of a batch");
  Loader loader = loader_of(1);
  std::optional<Batch> part;
  std::string expected;
  {
    const NextBatch next = loader.next();
    part = next.batch.rows(2, 5);
    CHECK(part->size() == 3);
    CHECK(part->number() == next.batch.number());
    CHECK((*part)["value"].raw() == next.batch["value"].row(2).raw());
    CHECK((*part)["value"].shape() == Shape{3, 16});
    for (std::int64_t row = 2; row < 5; ++row)
      expected += bytes_of(next.batch["value"].row(row));
    CHECK(part->origins().at(0).index == next.batch.origins().at(2).index);
    CHECK(part->origins().at(2).position == next.batch.origins().at(4).position);
  }
  std::deque<Batch> held;
  exhaust(loader, held);
  CHECK((bytes_of((*part)["value"]) == expected));
  CHECK(std::ssize(held) + 1 <= loader.stats().slabs);
  part.reset();
  CHECK(loader.next().status == NextBatch::Status::ready);
}

TEST_CASE("rows outside a batch are refused") {
  Watchdog watchdog("rows outside");
  Loader loader = loader_of(1);
  const NextBatch next = loader.next();
  CHECK_THROWS_AS(next.batch.rows(-1, 2), Error);
  CHECK_THROWS_AS(next.batch.rows(4, 9), Error);
  CHECK_THROWS_AS(next.batch.rows(5, 4), Error);
  CHECK(next.batch.rows(3, 3).size() == 0);
}

TEST_CASE("batches and tensors outlive the loader and its runtime") {
  Watchdog watchdog("tensors that outlive the loader");
  Batch batch;
  Tensor value;
  std::string expected;
  {
    Loader loader = loader_of(2);
    batch = loader.next().batch;
    value = batch["value"];
    expected = bytes_of(batch);
  }
  CHECK((bytes_of(batch) == expected));
  const std::string values = bytes_of(value);
  CHECK(batch.origins().size() == 8);
  CHECK(batch.position_after().position == 8);
  batch = Batch();
  CHECK_FALSE(batch);
  CHECK((bytes_of(value) == values));
}

TEST_CASE("a tensor alone keeps the loan") {
  Watchdog watchdog("a tensor that keeps the loan");
  Loader loader = loader_of(1);
  std::vector<Tensor> kept;
  std::string first;
  int taken = 0;
  try {
    for (Batch& batch : loader.epoch(0)) {
      kept.push_back(batch["value"]);
      if (taken++ == 0) first = bytes_of(kept.front());
    }
    FAIL("more tensors than slabs");
  } catch (const PipelineError&) {
    CHECK(taken >= 1);
  }
  CHECK((bytes_of(kept.front()) == first));
}

TEST_CASE("a batch operation may add and replace fields for the time of the loan") {
  Watchdog watchdog("fields of batch operations");
  Loader loader =
      Pipeline::from(table({.records = 64}))
          .batch({.size = 8})
          .then([](Batch& batch) {
            const Tensor doubled = batch.make("doubled", DType::int64, Shape{batch.size()});
            for (std::int64_t row = 0; row < batch.size(); ++row)
              doubled.data<std::int64_t>()[row] = 2 * batch["index"].row(row).item<std::int64_t>();
            batch.set("value", Tensor::zeros(DType::uint8, Shape{batch.size(), 2}));
          })
          .build({.runtime = Runtime({.threads = 2})});
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::int64_t place = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      CHECK(batch["value"].shape() == Shape{8, 2});
      for (std::int64_t value : batch["doubled"].values<std::int64_t>())
        CHECK(value == 2 * place++);
    }
    CHECK(place == 64);
  }
}
