// Batches out of a table on the device against the host's: the gather kernel in a loader.
#include <headrace/engine/headrace.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/tests/loaders/device_table_data.h>

#include "kernel_device.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

/// A field's bytes, wherever it lies.
std::string bytes_on(const Tensor& field, Stream stream) {
  if (!field.device().is_cuda()) return {static_cast<const char*>(field.raw()), field.bytes()};
  const detail::DeviceScope scope(field.device());
  detail::drain(stream);
  const std::vector<std::byte> bytes = bytes_on_device(field.raw(), field.bytes());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> epoch_of(Pipeline pipeline, const Schema& fields, Stream stream) {
  Loader loader = std::move(pipeline).build();
  std::vector<std::string> batches;
  for (Batch& batch : loader.epoch(0, stream)) {
    std::string& into = batches.emplace_back();
    for (const FieldSpec& field : fields)
      into += bytes_on(batch[field.name], stream);
    if (batch.has("valid")) into += bytes_on(batch["valid"], stream);
  }
  return batches;
}

}  // namespace

TEST_CASE("a table on a GPU gives the host's batches: every field, padding, and numbers outside") {
  if (!device_present()) return skip("a table on a device needs a GPU");
  const detail::DeviceStream trainer = detail::make_stream(Device::cuda(0), false);
  const Stream stream{trainer.get()};
  const auto source = every_layout(1000, true);
  const Schema fields = source->fields();
  auto table = std::make_shared<DeviceTable>(source, DeviceTableOptions{.device = Device::cuda(0)});
  table->load();
  const auto ordered = [](std::shared_ptr<const Source> from, Tail tail) {
    return Pipeline::from(std::move(from))
        .order(Shuffled{.seed = 3})
        .batch({.size = 300, .tail = tail});
  };
  for (const Tail tail : {Tail::shorter, Tail::pad}) {
    const auto made = epoch_of(ordered(table, tail).to(Device::cuda(0)).then(table->gather_step()),
                               fields, stream);
    CHECK((made == epoch_of(ordered(source, tail), fields, stream)));
  }
  const auto outside = [](Batch& batch, Stream on) {
    static const std::int64_t number = 1000;
    detail::copy_to_device(static_cast<std::byte*>(batch["table_row"].raw()),
                           reinterpret_cast<const std::byte*>(&number), sizeof number, on);
  };
  Loader loader = ordered(table, Tail::drop)
                      .to(Device::cuda(0))
                      .then(outside)
                      .then(table->gather_step())
                      .build();
  const Batch batch = loader.next().batch;
  batch.also_used_on(stream);
  for (const FieldSpec& field : fields) {
    const std::string first = bytes_on(batch[field.name].row(0), stream);
    CHECK(first == std::string(first.size(), '\0'));
  }
}

}  // namespace headrace::test

TEST_SUITE_END();
