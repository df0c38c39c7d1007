// A table on a device, against the stand-in for the CUDA runtime: how it is filled, what it
// refuses, and that batches wait for their row numbers. The kernel is stood in for by its twin on
// the host.
#include <headrace/loaders/memory/device_table.h>
#include <headrace/loaders/memory/internal/table_gather.h>
#include <headrace/tests/loaders/device_table_data.h>
#include <headrace/tests/loaders/gathered.h>

#include "device_reading.h"
#include "stand_in_module.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

/// The kernel's twin on the host, run when the stream comes to it.
int gather(const void* task, void* stream) {
  auto later = *static_cast<const detail::TableGather*>(task);
  const auto count = static_cast<std::size_t>(later.column_count);
  device::run_on({stream},
                 [later, columns = std::vector(later.columns, later.columns + count)]() mutable {
                   later.columns = columns.data();
                   detail::gather_on_host(later);
                 });
  return 0;
}
const bool provided = (device::provide_kernel("headrace_gather", gather), true);

Pipeline ordered(std::shared_ptr<const Source> source, Tail tail) {
  return Pipeline::from(std::move(source))
      .order(Shuffled{.seed = 3})
      .batch({.size = 300, .tail = tail});
}

std::vector<std::string> host_epoch(const std::shared_ptr<const Source>& source, Tail tail) {
  Loader loader = ordered(source, tail).build();
  std::vector<std::string> batches;
  for (Batch& batch : loader.epoch(0))
    batches.push_back(all_fields(batch, source->fields()));
  return batches;
}

/// The same fields out of the table, read on the trainer's stream after the batches are dropped.
std::vector<std::string> out_of(const std::shared_ptr<const DeviceTable>& table,
                                const Schema& fields, Tail tail, int threads) {
  TrainerStream stream;
  Loader loader = ordered(table, tail)
                      .to(Device::cuda(0))
                      .then(table->gather_step())
                      .build({.runtime = Runtime({.threads = threads})});
  std::vector<std::string> batches;
  batches.reserve(4096);
  for (Batch& batch : loader.epoch(0, stream)) {
    std::string& into = batches.emplace_back();
    const auto add = [&](const std::string& name) {
      const Tensor field = batch[name];
      stream.run([&into, header = name + to_string(field.shape())] { into += header; });
      read_on(stream, field, into);
    };
    for (const FieldSpec& field : fields)
      add(field.name);
    if (batch.has("valid")) add("valid");
  }
  stream.finish();
  return batches;
}

std::shared_ptr<DeviceTable> table_of(std::shared_ptr<const Source> source,
                                      std::size_t memory = 0) {
  return std::make_shared<DeviceTable>(
      std::move(source), DeviceTableOptions{.device = Device::cuda(0), .memory = memory});
}

TEST_CASE(
    "A table that was filled piece by piece gives the host's batches, for 1, 2 and 8 threads") {
  const auto source = every_layout(8000, true);  // three pieces
  device::reset();
  const auto table = table_of(source);
  table->load();
  CHECK(table->bytes() > std::size_t{16} << 20);
  CHECK(device::calls().allocations == 1);
  CHECK(device::calls().copies >= 3 * static_cast<std::int64_t>(source->fields().size()));
  CHECK(device::calls().page_locks == 0);
  for (const Tail tail : {Tail::shorter, Tail::pad}) {
    const auto expected = host_epoch(source, tail);
    for (const int threads : {1, 2, 8}) {
      const std::int64_t waited = device::calls().synchronisations;
      CHECK(same(out_of(table, source->fields(), tail, threads), expected));
      // A loader waits for its three streams and its events when it ends, and at no other time.
      CHECK(device::calls().synchronisations - waited < 10);
    }
  }
}

TEST_CASE("A table that the device has no room for is refused before anything is read") {
  const auto source = table({.records = 1000, .gathers = true});
  device::reset({.free_bytes = 5000});
  const std::string message = message_of<ResourceError>([&] { table_of(source)->load(); });
  CHECK(contains(message, std::to_string(table_of(source)->bytes())));
  CHECK(contains(message, "cuda:0 has free 5000"));
  device::reset();
  CHECK(contains(message_of<ResourceError>([&] { table_of(source, 6000)->load(); }), "6000"));
  CHECK(source->reads() == 0);
  CHECK(device::calls().allocations == 0);
}

TEST_CASE("What fails while a table is filled leaves nothing on the device") {
  device::reset();
  const auto before = device::calls();
  const auto torn = table({.records = 400'000, .gathers = true}, [](std::int64_t index) {
    if (index == 390'000) throw DataError("torn");  // when the first piece is on its way
  });
  const auto broken = table_of(torn);
  CHECK(contains(message_of<DataError>([&] { broken->load(); }), "torn"));
  CHECK_FALSE(broken->loaded());
  const auto whole = table({.records = 100});
  device::reset({.fail_copy = 1});
  CHECK_THROWS_AS(table_of(whole)->load(), DeviceError);
  device::reset();
  CHECK(device::calls().live_allocations == before.live_allocations);
  CHECK(device::calls().live_streams == before.live_streams);
  CHECK(device::calls().live_events == before.live_events);
}

TEST_CASE("A table on a device serves batches of that device alone") {
  device::reset();
  const auto table = table_of(every_layout(600, true));
  table->load();
  Loader loader = ordered(table, Tail::drop).then(table->gather_step()).build();
  const auto read = [&] {
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.size() > 0);
  };
  CHECK(contains(message_of<Error>(read), "cuda:0"));
}

}  // namespace
}  // namespace headrace::test
