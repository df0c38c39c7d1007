// What belongs to the trainer on a device stays as it was: contexts, captures of graphs, the
// driver's threads.
#include <headrace/engine/device/internal/kernel.h>
#include <headrace/tests/engine/test_support.h>

#include "device_reading.h"
#include "stand_in_module.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace headrace::test {
namespace {

TEST_CASE("A loader of the second device makes no context on the first") {
  device::reset({.devices = 2});
  // A thread that has never used CUDA, as a rank's main thread at its start.
  std::thread([] {
    TrainerStream stream(1);
    Loader loader = loader_on(Device::cuda(1), 2);
    CHECK(read_through(loader, stream, 1, 0).size() == 27);
    Batch held = loader.next().batch;
    CHECK(loader.stats().transfer.copies >= 27);
  }).join();
  CHECK(device::contexts() == std::set<int>{1});
}

/// Whether a process that is forked while the loader works can read a slab.
bool child_reads_slabs(Device to) {
  device::reset();
  std::atomic<const void*> row{nullptr};
  Loader loader = rows_of_source(table({.records = 40}))
                      .then([&row](Sample& sample) { row = sample["value"].raw(); })
                      .batch({.size = 8})
                      .to(to)
                      .build({.runtime = Runtime({.threads = 1})});
  CHECK(loader.next().status == NextBatch::Status::ready);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(write(ends[1], row, 1) == 1 ? 1 : errno == EFAULT ? 2 : 3);
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) != 3));
  return WEXITSTATUS(status) == 1;
}

TEST_CASE("A forked process does not get page-locked slabs") {
  CHECK_FALSE(child_reads_slabs(Device::cuda(0)));
}

TEST_CASE("Twin: it does get slabs that are not page-locked") {
  CHECK(child_reads_slabs(Device::cpu()));
}

/// Makes memory of another size for every batch, so that the device is asked for more.
struct MakesMore {
  Schema schema(const Schema& in) const { return in; }
  void operator()(Batch& batch, Stream) const {
    static_cast<void>(batch.make("more", DType::uint8, Shape{1000 * (1 + batch.number()), 100}));
  }
};

TEST_CASE("A graph that the trainer captures stays whole while a loader works") {
  device::reset();
  TrainerStream captured;
  TrainerStream stream;
  device::Capture capture(captured);
  // On this thread the trainer captures; loaders start, allocate, lock pages and end meanwhile.
  for (int round = 0; round < 3; ++round) {
    Loader loader =
        recipe(Device::cuda(0)).then(MakesMore{}).build({.runtime = Runtime({.threads = 2})});
    int batches = 0;
    for (Batch& batch : loader.epoch(0, stream))
      batches += batch.has("more") ? 1 : 0;
    CHECK(batches == 27);
    CHECK(loader.stats().transfer.timed > 0);
  }
  CHECK(capture.end());
}

TEST_CASE("Twin: a call that is not made in the relaxed mode spoils the capture") {
  device::reset();
  TrainerStream captured;
  device::Capture capture(captured);
  CHECK_THROWS_AS(device::unsafe_call(), std::runtime_error);
  CHECK_FALSE(capture.end());
}

TEST_CASE("A loan to a stream that is being captured is refused by name, and can be had later") {
  device::reset();
  TrainerStream stream;
  Loader loader = loader_on(Device::cuda(0), 2);
  const Epoch epoch = loader.epoch(0, stream);
  {
    device::Capture capture(stream);
    CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("being captured into a graph"),
                         DeviceError);
    CHECK(capture.end());
  }
  CHECK(loader.next().batch.number() == 0);
  TrainerStream other;
  const Batch batch = loader.next().batch;
  device::Capture capture(other);
  CHECK_THROWS_WITH_AS(batch.also_used_on(other), doctest::Contains("take the batch before"),
                       DeviceError);
  CHECK(capture.end());
}

TEST_CASE("A loan to the stream that is another one on each thread is refused by name") {
  device::reset();
  Loader loader = loader_on(Device::cuda(0), 2);
  const Stream of_each_thread{reinterpret_cast<void*>(2)};
  CHECK_THROWS_WITH_AS(static_cast<void>(loader.epoch(0, of_each_thread).begin()),
                       doctest::Contains("cudaStreamPerThread"), DeviceError);
  TrainerStream stream;
  const Epoch epoch = loader.epoch(0, stream);
  const Batch batch = loader.next().batch;
  CHECK_THROWS_WITH_AS(batch.also_used_on(of_each_thread), doctest::Contains("cudaStreamPerThread"),
                       DeviceError);
}

TEST_CASE("A kernel is not blamed for an error that others left with the thread") {
  device::reset();
  device::provide_kernel("headrace_test", [](const void*, void*) { return device::last_error(); });
  const detail::Kernel kernel{.who = "test", .function = "headrace_test"};
  device::leave_error();
  detail::launch(kernel, nullptr, Device::cuda(0), {});
  device::provide_kernel("headrace_test", [](const void*, void*) { return 209; });
  CHECK_THROWS_WITH_AS(detail::launch(kernel, nullptr, Device::cuda(0), {}),
                       doctest::Contains("must be built for this GPU"), DeviceError);
}

TEST_CASE("A loan that ends on a stream that is being captured fails the run by name") {
  const Watchdog watchdog("a loan that ended in a capture");
  device::reset();
  const auto expected = on_host(1);
  TrainerStream stream;
  Loader loader = loader_on(Device::cuda(0), 2);
  {
    const Epoch epoch = loader.epoch(0, stream);
    Batch held = loader.next().batch;
    device::Capture capture(stream);
    held = Batch();
    CHECK_THROWS_WITH_AS(loader.next(),
                         doctest::Contains("keep the batch until the capture has ended"),
                         DeviceError);
    CHECK(capture.end());
  }
  CHECK(same(read_through(loader, stream, 1, 0), expected));
}

/// Notes whether the order or the source is asked on a thread of the driver.
class Watched final : public TableSource {
 public:
  using TableSource::TableSource;
  std::size_t working_bytes(std::int64_t index) const override {
    if (device::in_callback()) by_driver = true;
    return TableSource::working_bytes(index);
  }
  mutable std::atomic<bool> by_driver{false};
};

TEST_CASE("Nothing is admitted, and no CUDA is called, on a thread of the driver") {
  for (const bool staged : {false, true}) {
    device::reset({.copy_delay_us = 100});
    const auto source = std::make_shared<Watched>(TableOptions{.records = 400, .blocking = staged});
    TrainerStream stream;
    Loader loader = work_on(source, true)
                        .batch({.size = 8})
                        .to(Device::cuda(0))
                        .build({.runtime = Runtime({.threads = 2})});
    CHECK(read_through(loader, stream, 2, 0).size() == 100);
    CHECK_FALSE(source->by_driver);
    CHECK(device::calls().in_callbacks == 0);
  }
}

TEST_CASE("Copies follow each other while the driver's callback is late") {
  const Watchdog watchdog("copies behind a late callback");
  std::atomic<bool> waited{false};
  std::atomic<bool> followed{false};
  device::reset({.copy_delay_us = 0, .on_callback = [&] {
                   if (waited.exchange(true)) return;
                   // The first callback does not return before a second copy is done.
                   followed = eventually([] { return device::calls().copies_done >= 2; });
                 }});
  TrainerStream stream;
  {
    Loader loader = loader_on(Device::cuda(0), 2);
    const Epoch epoch = loader.epoch(0, stream);
    CHECK(eventually([&] { return waited && device::calls().copies_done >= 2; }));
  }
  CHECK(followed);
}

TEST_CASE("Pageable slabs: no worker waits for the trainer") {
  const Watchdog watchdog("copies of pageable memory");
  device::reset({.refuse_page_locks = true, .copy_delay_us = 0});
  const auto source = table({.records = 800});
  TrainerStream stream;
  std::atomic<bool> open{false};
  Loader loader = work_on(source, true)
                      .batch({.size = 8})
                      .to(Device::cuda(0))
                      .build({.prefetch = 12, .runtime = Runtime({.threads = 1})});
  const Epoch epoch = loader.epoch(0, stream);
  stream.run([&open] {
    while (!open)
      std::this_thread::yield();
  });
  // Three batches go round on a stream that stands still: the fourth copy must wait for the first.
  for (int number = 0; number < 3; ++number)
    static_cast<void>(loader.next());
  // All slabs are read and filled by the only worker meanwhile: 3 copied, 12 + 1 + 1 + 1 waiting.
  CHECK(eventually([&] { return source->reads() >= 8 * (3 + 15); }));
  open = true;
  CHECK(loader.next().batch.number() == 3);
  stream.finish();
}

TEST_CASE("Pageable slabs: the device gets the host's bytes, however late it reads") {
  for (const int threads : {1, 2, 8}) {
    device::reset({.refuse_page_locks = true});
    const auto expected = on_host(2);
    TrainerStream stream;
    Loader loader = loader_on(Device::cuda(0), threads);
    CHECK(same(read_through(loader, stream, 2, 200), expected));
    CHECK(device::calls().torn_copies == 0);
  }
}

TEST_CASE("A loader can be asked while its pages are being locked") {
  const Watchdog watchdog("statistics while pages are locked");
  Loader* asked = nullptr;
  std::atomic<bool> answered{false};
  device::reset({.on_page_lock = [&] {
    std::thread([&] {
      static_cast<void>(asked->stats());
      static_cast<void>(asked->position());
      answered = true;
    }).join();
  }});
  Loader loader = loader_on(Device::cuda(0), 2);
  asked = &loader;
  TrainerStream stream;
  const Epoch epoch = loader.epoch(0, stream);
  CHECK(answered);
  CHECK(loader.next().status == NextBatch::Status::ready);
}

}  // namespace
}  // namespace headrace::test
