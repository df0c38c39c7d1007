// Slots of the device: none lies idle while a batch waits for one, none goes round or is freed
// while somebody uses it, and none is read before it is ready.
#include <headrace/tests/engine/test_support.h>

#include "device_reading.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

/// Five batches of 8, delivered through three slots; record 38 is bad where `bad` says so.
Loader five_batches(const std::atomic<bool>& bad) {
  const auto source = table({.records = 40}, [&bad](std::int64_t index) {
    if (bad && index == 38) throw DataError("torn");
  });
  return Pipeline::from(source)
      .batch({.size = 8})
      .to(Device::cuda(0))
      .build({.runtime = Runtime({.threads = 2})});
}

/// Whatever can go on has done so.
void settle() {
  std::this_thread::sleep_for(100ms);
}

/// Takes a batch and drops it.
std::int64_t pass(Loader& loader) {
  const std::int64_t number = loader.next().batch.number();
  settle();
  return number;
}

TEST_CASE("A slot that a failed last batch did not need goes to the next epoch") {
  const Watchdog watchdog("a slot beside a failed batch");
  device::reset({.copy_delay_us = 0});
  TrainerStream stream;
  const std::atomic<bool> bad{true};
  Loader loader = five_batches(bad);
  const Epoch first = loader.epoch(0, stream);
  const Batch held = loader.next().batch;
  const Batch another = loader.next().batch;
  REQUIRE(eventually([] { return device::calls().copies == 3; }));
  settle();  // the rest is parked
  CHECK(pass(loader) == 2);
  CHECK(pass(loader) == 3);
  const Epoch second = loader.epoch(1, stream);
  CHECK(loader.next(60s).status == NextBatch::Status::ready);
}

TEST_CASE("The same with one slot lost and one batch held") {
  const Watchdog watchdog("a slot beside a failed batch, one lost");
  device::reset({.copy_delay_us = 0});
  TrainerStream stream;
  std::atomic<bool> bad{false};
  Loader loader = five_batches(bad);
  {
    Epoch epoch = loader.epoch(0, stream);
    drop_in_a_callback(stream, std::move(*epoch.begin()));
    stream.finish();
    CHECK_THROWS_AS(loader.next(), DeviceError);
  }
  settle();
  bad = true;
  const Epoch first = loader.epoch(0, stream);
  const Batch held = loader.next().batch;
  CHECK(pass(loader) == 1);
  CHECK(pass(loader) == 2);
  CHECK(pass(loader) == 3);
  const Epoch second = loader.epoch(1, stream);
  CHECK(loader.next(60s).status == NextBatch::Status::ready);
}

/// Keeps the last two batches, as an operation that mixes with earlier ones does; the third takes
/// its time. The step may run until its loader has ended: nobody else touches `kept` before.
struct KeepsTwo {
  std::shared_ptr<std::vector<Batch>> kept = std::make_shared<std::vector<Batch>>();
  std::shared_ptr<std::atomic<bool>> at_third = std::make_shared<std::atomic<bool>>(false);
  Schema schema(const Schema& in) const { return in; }
  void operator()(Batch& batch, Stream) const {
    kept->push_back(batch);
    if (kept->size() > 2) kept->erase(kept->begin());
    if (batch.number() != 2) return;
    *at_third = true;
    std::this_thread::sleep_for(300ms);
  }
};

TEST_CASE("Memory that runs out while a batch is waited for is an error, not a hang") {
  const Watchdog watchdog("slots that run out");
  for (const Device device : {Device::cuda(0), Device::cpu()}) {
    device::reset({.copy_delay_us = 0});
    TrainerStream stream;
    const KeepsTwo keeps;
    Loader loader = Pipeline::from(table({.records = 80}))
                        .batch({.size = 8})
                        .to(device)
                        .then(keeps)
                        .build({.prefetch = 1, .runtime = Runtime({.threads = 2})});
    const Epoch first = loader.epoch(0, stream);
    const Batch held = loader.next().batch;
    REQUIRE(eventually([&] { return keeps.at_third->load(); }));
    const Epoch second = loader.epoch(1, stream);
    CHECK_THROWS_WITH_AS(loader.next(60s), doctest::Contains("are on loan"), PipelineError);
  }
}

TEST_CASE("The last batch may die in a callback of the driver after its loader, under copies") {
  const Watchdog watchdog("the last batch in a callback");
  device::reset({.copy_delay_us = 0, .copy_least_us = 100'000});
  TrainerStream stream;
  std::atomic<bool> open{false};
  {
    Loader loader = loader_on(Device::cuda(0), 2);
    Epoch epoch = loader.epoch(0, stream);
    stream.call([&open] {
      while (!open)
        std::this_thread::yield();
    });
    drop_in_a_callback(stream, std::move(*epoch.begin()));
  }
  open = true;
  stream.finish();
  CHECK(eventually([] { return device::calls().copies_done == device::calls().copies; }));
  CHECK(device::calls().torn_copies == 0);
}

/// Makes memory that no schema has foreseen.
struct MakesUnforeseen {
  Schema schema(const Schema& in) const { return in; }
  void operator()(Batch& batch, Stream stream) const {
    const Tensor more = batch.make("more", DType::uint8, Shape{8, 100});
    device::run_on(stream, [out = more.data<std::uint8_t>()] { std::fill_n(out, 800, 0x11); });
  }
};

TEST_CASE("What a batch operation made in a lost slot stays as the slot does") {
  const Watchdog watchdog("memory of a lost slot");
  device::reset({.copy_delay_us = 0});
  TrainerStream first;
  TrainerStream second;
  std::atomic<bool> open{false};
  std::string value;
  std::string more;
  std::string was;
  {
    Loader loader =
        recipe(Device::cuda(0)).then(MakesUnforeseen{}).build({.runtime = Runtime({.threads = 2})});
    Epoch epoch = loader.epoch(0, first);
    Batch batch = std::move(*epoch.begin());
    read_on(first, batch["value"], was);
    first.finish();
    batch.also_used_on(second);
    second.run([&open] {
      while (!open)
        std::this_thread::yield();
    });
    read_on(second, batch["value"], value);
    read_on(second, batch["more"], more);
    drop_in_a_callback(first, std::move(batch));
    first.finish();
    CHECK_THROWS_AS(loader.next(), DeviceError);
  }
  open = true;
  second.finish();
  CHECK(value == was);
  CHECK(more == std::string(800, '\x11'));
}

TEST_CASE("Pageable slabs: a wait for a copy that fails ends the run") {
  const Watchdog watchdog("a wait for a copy that fails");
  device::reset({.refuse_page_locks = true, .refuse = "cudaStreamSynchronize", .refuse_after = 2});
  TrainerStream stream;
  Loader loader = loader_on(Device::cuda(0), 2);
  const auto expected = on_host(1);
  CHECK_THROWS_AS(read_through(loader, stream, 1, 0), DeviceError);
  CHECK(same(read_through(loader, stream, 1, 0), expected));
}

TEST_CASE("A batch that failed, and whose memory is lost, ends its own run alone") {
  const Watchdog watchdog("one failure");
  for (int after = 0; after < 12; ++after) {
    CAPTURE(after);
    device::reset({.refuse = "cudaEventRecord", .refuse_after = after, .refuse_times = 2});
    TrainerStream stream;
    Loader loader = loader_on(Device::cuda(0), 2);
    std::string said;
    for (int run = 0; run < 4; ++run) {
      try {
        read_through(loader, stream, 1, 0);
      } catch (const DeviceError& error) {
        said += error.what();
      }
    }
    CHECK(said.find("recording an event failed") != std::string::npos);
    CHECK(said.find("behind a failed batch") == std::string::npos);
  }
}

/// Names the trainer's stream in a batch operation.
struct NamesStream {
  Stream trainer;
  Schema schema(const Schema& in) const { return in; }
  void operator()(Batch& batch, Stream) const { batch.also_used_on(trainer); }
};

TEST_CASE("A stream cannot use a batch that is still being made") {
  const Watchdog watchdog("a stream named in a batch operation");
  device::reset();
  TrainerStream stream;
  Loader loader =
      recipe(Device::cuda(0)).then(NamesStream{stream}).build({.runtime = Runtime({.threads = 2})});
  CHECK_THROWS_WITH_AS(read_through(loader, stream, 1, 0),
                       doctest::Contains("when the batch is delivered"), DataError);
}

}  // namespace
}  // namespace headrace::test
