// How loans of device memory end: behind whose work, on which thread, and when that cannot be said.
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

TEST_CASE("An epoch that is asked for while the slots hold the one before gets its batches") {
  const Watchdog watchdog("an epoch behind three undelivered batches");
  TrainerStream stream;
  for (int round = 0; round < 20; ++round) {
    device::reset({.copy_delay_us = 0});
    Loader loader = recipe(Device::cuda(0), 32).build({.runtime = Runtime({.threads = 2})});
    const Epoch first = loader.epoch(0, stream);
    REQUIRE(loader.next().batch.number() == 0);
    // Its last three batches have the slots, and every slab waits for one with the next epoch's.
    REQUIRE(eventually([&] { return device::calls().copies == 4; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Epoch second = loader.epoch(1, stream);
    for (int number = 0; number < 4; ++number) {
      const NextBatch got = loader.next(std::chrono::seconds(60));
      REQUIRE(got.status == NextBatch::Status::ready);
      CHECK(got.batch.number() == number);
    }
    CHECK(loader.next().status == NextBatch::Status::end);
  }
}

TEST_CASE("A stream of another device is refused by name, and the batch stays as it was") {
  device::reset({.devices = 2});
  TrainerStream stream(0);
  TrainerStream other(1);
  const auto expected = on_host(1);
  Loader loader = loader_on(Device::cuda(0), 2);
  std::vector<std::string> batches;
  batches.reserve(expected.size());
  for (Batch& batch : loader.epoch(0, stream)) {
    CHECK_THROWS_WITH_AS(batch.also_used_on(other),
                         doctest::Contains("lent to streams of that device alone"), DeviceError);
    std::string& into = batches.emplace_back();
    for (const std::string& name : batch.names())
      read_on(stream, batch[name], into, 50);
  }
  stream.finish();
  CHECK(same(batches, expected));
  CHECK_THROWS_AS(loader_on(Device::cuda(0), 2).epoch(0, other).begin(), DeviceError);
}

/// Lets a batch's last reference die in a callback while another stream is still to read it; what
/// that stream saw, and what the batch was.
struct Quarantine {
  std::string seen;
  std::string was;
  std::string said;

  explicit Quarantine(Loader& loader) {
    TrainerStream first;
    TrainerStream second;
    std::atomic<bool> open{false};
    Batch batch;
    {
      Epoch epoch = loader.epoch(0, first);
      batch = std::move(*epoch.begin());
      read_on(first, batch["value"], was);
      first.finish();
      batch.also_used_on(second);
      second.run([&open] {
        while (!open)
          std::this_thread::yield();
      });
      read_on(second, batch["value"], seen);
      drop_in_a_callback(first, std::move(batch));
      first.finish();
      try {
        for (int number = 0; number < 8; ++number)
          static_cast<void>(loader.next());
      } catch (const DeviceError& error) {
        said = error.what();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    open = true;
    second.finish();
  }
};

TEST_CASE("A loan that ends where its end cannot be recorded loses its memory and fails the run") {
  const Watchdog watchdog("a loan that ended in a callback");
  device::reset({.copy_delay_us = 0});
  Loader loader = loader_on(Device::cuda(0), 2);
  const Quarantine lost(loader);
  CHECK(lost.seen == lost.was);
  CHECK(lost.said.find("CUDA runtime answers") != std::string::npos);
  // With one slot less the next epochs are whole.
  TrainerStream stream;
  const auto expected = on_host(1);
  CHECK(same(read_through(loader, stream, 1, 20), expected));
  CHECK(loader.stats().slabs_on_loan == 0);
}

TEST_CASE("When every slot is lost the loader says so and does not wait") {
  const Watchdog watchdog("a loader without slots");
  device::reset({.copy_delay_us = 0});
  Loader loader = loader_on(Device::cuda(0), 2);
  TrainerStream stream;
  for (int slot = 0; slot < 3; ++slot) {
    Epoch epoch = loader.epoch(slot, stream);
    drop_in_a_callback(stream, std::move(*epoch.begin()));
    stream.finish();
    CHECK_THROWS_AS(loader.next(), DeviceError);
  }
  loader.epoch(3, stream);
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("build the loader anew"), DeviceError);
}

/// Queues slow work on the first batch, then fails.
struct FailsLate {
  std::shared_ptr<std::atomic<bool>> armed = std::make_shared<std::atomic<bool>>(true);
  std::string name() const { return "fails late"; }
  void operator()(Batch& batch, Stream stream) const {
    if (!armed->exchange(false)) return;
    const Tensor value = batch["value"];
    device::run_on(stream, [out = value.data<std::uint8_t>(), count = value.elements()] {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      std::fill_n(out, count, std::uint8_t{0xAB});
    });
    throw DataError("the step failed after its kernel was started");
  }
};

TEST_CASE("Work of a step that failed afterwards does not reach into the next batch") {
  const Watchdog watchdog("a step that fails late");
  device::reset({.copy_delay_us = 0});
  const auto expected = on_host(1);
  TrainerStream stream;
  Loader loader =
      recipe(Device::cuda(0)).then(FailsLate{}).build({.runtime = Runtime({.threads = 2})});
  CHECK_THROWS_WITH_AS(read_through(loader, stream, 1, 0), doctest::Contains("fails late"),
                       DataError);
  CHECK(same(read_through(loader, stream, 1, 0), expected));
}

TEST_CASE("A slab whose copy could not be completed is not filled again") {
  const Watchdog watchdog("a copy that was not completed");
  for (const std::string call : {"cudaLaunchHostFunc", "cudaEventRecord", "cudaStreamWaitEvent"}) {
    for (int after = 0; after < 6; ++after) {
      CAPTURE(call);
      CAPTURE(after);
      device::reset(
          {.refuse = call, .refuse_after = after, .copy_delay_us = 0, .copy_least_us = 3000});
      const auto expected = on_host(1);
      TrainerStream stream;
      Loader loader = loader_on(Device::cuda(0), 2);
      bool failed = false;
      try {
        read_through(loader, stream, 1, 0);
      } catch (const DeviceError&) {
        failed = true;
      }
      CHECK(failed);
      CHECK(same(read_through(loader, stream, 1, 0), expected));
      CHECK(device::calls().torn_copies == 0);
    }
  }
}

}  // namespace
}  // namespace headrace::test
