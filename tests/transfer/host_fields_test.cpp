// Fields that stay on the host, for work that is left to the device: they are there for as long as
// the work takes, and never seen by the trainer.
#include <headrace/tests/engine/test_support.h>

#include "device_reading.h"
#include "leaves_work.h"

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

Pipeline with_work(const LeavesWork& step, std::int64_t records = 210,
                   TableSource::Hook hook = {}) {
  return Pipeline::from(table({.records = records}, std::move(hook)))
      .named("train")
      .order(Shuffled{.seed = 7})
      .then(step)
      .batch({.size = 8})
      .to(Device::cuda(0));
}

Loader loader_with(const LeavesWork& step, int threads = 2) {
  return with_work(step).build({.runtime = Runtime({.threads = threads})});
}

/// The batches as they are without a device.
std::vector<std::string> expected_batches(int epochs) {
  Loader loader = Pipeline::from(table({.records = 210}))
                      .named("train")
                      .order(Shuffled{.seed = 7})
                      .then([](Sample& sample) {
                        for (std::uint8_t& value : sample["value"].values<std::uint8_t>())
                          value = static_cast<std::uint8_t>(~value);
                      })
                      .batch({.size = 8})
                      .build({.runtime = Runtime({.threads = 2})});
  std::vector<std::string> batches;
  batches.reserve(64);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      std::string& into = batches.emplace_back();
      for (const std::string& name : batch.names())
        into += bytes_of(batch[name]);
    }
  }
  return batches;
}

TEST_CASE("A slab whose bytes the device reads late is not filled again before that") {
  const auto expected = expected_batches(2);
  for (const bool locked : {true, false}) {
    for (const int threads : {1, 2, 8}) {
      CAPTURE(locked);
      CAPTURE(threads);
      device::reset({.refuse_page_locks = !locked, .copy_delay_us = 50});
      TrainerStream stream;
      Loader loader = loader_with({.delay_us = 400}, threads);
      CHECK(same(read_through(loader, stream, 2, 20), expected));
    }
  }
}

TEST_CASE("What stays on the host is neither copied nor delivered, and is in the forecast") {
  device::reset();
  TrainerStream stream;
  Loader loader = loader_with({.device_bytes = 12'345});
  Loader plain = rows_of_source(table({.records = 210}))
                     .batch({.size = 8})
                     .to(Device::cuda(0))
                     .build({.runtime = Runtime({.threads = 2})});
  const Epoch epoch = loader.epoch(0, stream);
  const Batch batch = loader.next().batch;
  CHECK(batch.names() == std::vector<std::string>{"index", "value"});
  CHECK(!batch.has("note"));
  CHECK_THROWS_WITH_AS(batch["note"], doctest::Contains("this batch has: index, value"),
                       PipelineError);
  CHECK_THROWS_WITH_AS(batch.on_host("note"), doctest::Contains("this batch is finished"),
                       PipelineError);
  CHECK_THROWS_WITH_AS(batch.on_host("value"), doctest::Contains("does not keep it"),
                       PipelineError);
  CHECK(loader.forecast().device_bytes == plain.forecast().device_bytes + 12'345);
  CHECK(loader.forecast().total() > plain.forecast().total());
  CHECK(loader.describe().find("note: uint8 [16] on the host") != std::string::npos);
  CHECK(loader.describe().find("leaves on the device (a stand-in)") != std::string::npos);
  stream.finish();
}

TEST_CASE("Work that fails ends its epoch, and every slab comes back") {
  const Watchdog watchdog("work on the device that fails");
  device::reset({.copy_delay_us = 0});
  TrainerStream stream;
  const LeavesWork step{.delay_us = 100, .fails_at = 3};
  Loader loader = loader_with(step);
  for (int run = 0; run < 30; ++run) {
    CHECK_THROWS_WITH_AS(read_through(loader, stream, 1, 0), doctest::Contains("the work fails"),
                         DataError);
  }
}

TEST_CASE("A slab whose work could not begin comes back behind its copy all the same") {
  const auto expected = expected_batches(1);
  device::reset({.refuse = "cudaStreamWaitEvent", .copy_delay_us = 0, .copy_least_us = 20'000});
  TrainerStream stream;
  Loader loader = loader_with({});
  CHECK_THROWS_AS(read_through(loader, stream, 1, 0), DeviceError);
  CHECK(same(read_through(loader, stream, 1, 0), expected));
  CHECK(device::calls().torn_copies == 0);
}

TEST_CASE("A bad row's work is not done: it holds zeros on the host") {
  device::reset();
  TrainerStream stream;
  const auto bad = [](std::int64_t index) {
    if (index % 5 == 0) throw DataError("torn");
  };
  Loader loader = with_work({.delay_us = 50}, 40, bad)
                      .on_bad_sample({.rule = BadSamples::Rule::shrink})
                      .build({.runtime = Runtime({.threads = 2})});
  std::vector<std::pair<std::string, std::string>> seen;
  seen.reserve(8);
  for (Batch& batch : loader.epoch(0, stream)) {
    auto& [valid, value] = seen.emplace_back();
    read_on(stream, batch["valid"], valid);
    read_on(stream, batch["value"], value);
  }
  stream.finish();
  for (const auto& [valid, value] : seen) {
    for (std::size_t row = 0; row < valid.size(); ++row) {
      const bool zero = value.substr(row * TableSource::width, TableSource::width) ==
                        std::string(TableSource::width, '\0');
      CHECK(zero == (valid[row] == 0));
    }
  }
}

TEST_CASE("Work that nobody would do, or that comes too early, is refused at build()") {
  device::reset();
  const auto pipeline = [] { return Pipeline::from(table({.records = 20})); };
  const auto builds = [](Pipeline steps, Device to) {
    std::move(steps).batch({.size = 4}).to(to).build();
  };
  CHECK_THROWS_WITH_AS(builds(pipeline().then(LeavesWork{}), Device::cpu()),
                       doctest::Contains("works on cuda:0, batches are delivered to cpu"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(builds(pipeline().then(LeavesWork{}).then(Sum{}), Device::cuda(0)),
                       doctest::Contains("step sum behind it would find nothing"), ConfigError);
  CHECK_THROWS_WITH_AS(builds(pipeline().then(Wraps{}), Device::cuda(0)),
                       doctest::Contains("cannot stand inside another one"), ConfigError);
  LeavesWork on_cpu;
  on_cpu.device = Device::cpu();
  CHECK_THROWS_WITH_AS(builds(pipeline().then(on_cpu), Device::cpu()),
                       doctest::Contains("must be CUDA"), ConfigError);
}

TEST_CASE("Loaders of one pipeline have work of their own, which ends with them") {
  device::reset();
  TrainerStream stream;
  const auto expected = expected_batches(1);
  const LeavesWork step{.delay_us = 100};
  const Pipeline pipeline = with_work(step);
  {
    Loader first = pipeline.build({.runtime = Runtime({.threads = 2})});
    Loader second = pipeline.build({.runtime = Runtime({.threads = 2})});
    CHECK(*step.alive == 0);
    CHECK(same(read_through(first, stream, 1, 0), expected));
    CHECK(*step.alive == 1);
    CHECK(same(read_through(second, stream, 1, 0), expected));
    CHECK(*step.alive == 2);
  }
  CHECK(*step.alive == 0);
}

}  // namespace
}  // namespace headrace::test
