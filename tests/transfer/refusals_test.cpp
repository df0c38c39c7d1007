// What the transfer stage does when a device, its memory or its user will not play along.
#include "device_reading.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

TEST_CASE("More batches held than there are slots is an error that names the cure") {
  device::reset();
  Loader loader = loader_on(Device::cuda(0), 2);
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i)
    held.push_back(loader.next().batch);
  CHECK_THROWS_WITH_AS(loader.next(),
                       doctest::Contains("all 3 slots of the device are on loan; drop or clone"),
                       PipelineError);
  held.clear();
  CHECK(loader.next().status == NextBatch::Status::ready);
}

TEST_CASE("Epochs that are left early lose no slab and no slot") {
  device::reset({.copy_delay_us = 100});
  const auto expected = on_host(1);
  TrainerStream stream;
  Loader loader = loader_on(Device::cuda(0), 2);
  for (int cycle = 0; cycle < 200; ++cycle) {
    int number = 0;
    for (Batch& batch : loader.epoch(cycle, stream)) {
      static_cast<void>(batch);
      if (number++ == cycle % 7) break;
    }
  }
  CHECK(same(read_through(loader, stream, 1, 0), expected));
  CHECK(loader.stats().slabs_on_loan == 0);
}

TEST_CASE("A hundred loaders leave nothing behind on the device") {
  device::reset();
  const device::Calls before = device::calls();
  for (int i = 0; i < 100; ++i) {
    Loader loader = loader_on(Device::cuda(0), 1 + i % 3);
    if (i % 2 == 0) static_cast<void>(loader.next());
  }
  CHECK(device::calls().live_allocations == before.live_allocations);
  CHECK(device::calls().live_streams == before.live_streams);
  CHECK(device::calls().live_events == before.live_events);
}

TEST_CASE("Refused page locks are said in one line, and the bytes stay right") {
  device::reset({.refuse_page_locks = true});
  const auto expected = on_host(1);
  std::vector<std::string> warnings;
  LoaderOptions options;
  options.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) warnings.emplace_back(line);
  };
  TrainerStream stream;
  Loader loader = loader_on(Device::cuda(0), 2, options);
  CHECK(same(read_through(loader, stream, 1, 0), expected));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("could not be page-locked") != std::string::npos);
  CHECK(warnings[0].find("ulimit -l") != std::string::npos);
  CHECK(!loader.stats().transfer.page_locked);
}

TEST_CASE("A device that fails ends the run with its name, wherever it fails, and never hangs") {
  for (const std::int64_t at : {0, 1, 5, 20}) {
    CAPTURE(at);
    device::reset({.fail_copy = at});
    TrainerStream stream;
    Loader loader = loader_on(Device::cuda(0), 2);
    std::string said;
    try {
      for (Batch& batch : loader.epoch(0, stream))
        static_cast<void>(batch);
    } catch (const std::exception& error) {
      said = error.what();
    }
    CHECK(said.find("CUDA runtime answers") != std::string::npos);
  }
}

TEST_CASE("A batch that the trainer's stream could not wait for is there at the next request") {
  device::reset({.refuse_waits = 2});
  Loader loader = loader_on(Device::cuda(0), 2);
  for (int refused = 0; refused < 2; ++refused) {
    CHECK_THROWS_AS(loader.next(), DeviceError);
    CHECK(loader.stats().slabs_on_loan == 0);
    CHECK(loader.position().position == 0);
  }
  const NextBatch first = loader.next();
  REQUIRE(first.status == NextBatch::Status::ready);
  CHECK(first.batch.number() == 0);
  CHECK(loader.next().batch.number() == 1);
}

TEST_CASE("The caller's current device stays as it was") {
  device::reset({.devices = 4});
  device::make_current(3);
  TrainerStream stream(1);
  {
    Loader loader = loader_on(Device::cuda(1), 2);
    read_through(loader, stream, 1, 0);
    CHECK(device::current() == 3);
    Batch held = loader.next().batch;
    held = Batch();
    CHECK(device::current() == 3);
  }
  CHECK(device::current() == 3);
  device::make_current(0);
}

TEST_CASE("A device that is not there is refused by name at build()") {
  device::reset({.devices = 2});
  CHECK_THROWS_WITH_AS(recipe(Device::cuda(2)).build(),
                       doctest::Contains("cuda:2 was asked for, this machine has 2 device(s)"),
                       DeviceError);
  device::reset({.devices = 0});
  CHECK_THROWS_AS(recipe(Device::cuda(0)).build(), DeviceError);
}

}  // namespace
}  // namespace headrace::test
