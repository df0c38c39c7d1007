// The gather kernel against its twin on the host; needs a GPU.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include <headrace/engine/headrace.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/tests/loaders/device_table_data.h>
#include <headrace/tests/support/cuda_present.h>
#include <headrace/tests/support/skip.h>

namespace headrace::test {
namespace {

struct TrainerStream {
  TrainerStream() { REQUIRE(cudaStreamCreate(&handle) == cudaSuccess); }
  ~TrainerStream() { cudaStreamDestroy(handle); }
  TrainerStream(const TrainerStream&) = delete;
  TrainerStream& operator=(const TrainerStream&) = delete;
  cudaStream_t handle = nullptr;
};

/// A field's bytes, wherever it lies.
std::string bytes_on(const Tensor& field, cudaStream_t stream) {
  std::string bytes(field.bytes(), '\0');
  if (bytes.empty()) return bytes;
  REQUIRE(cudaMemcpyAsync(bytes.data(), field.raw(), bytes.size(), cudaMemcpyDefault, stream) ==
          cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  return bytes;
}

std::vector<std::string> epoch_of(Pipeline pipeline, const Schema& fields, cudaStream_t stream) {
  Loader loader = std::move(pipeline).build();
  std::vector<std::string> batches;
  for (Batch& batch : loader.epoch(0, Stream{stream})) {
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
  const TrainerStream stream;
  const auto source = every_layout(8000, true);
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
                               fields, stream.handle);
    CHECK((made == epoch_of(ordered(source, tail), fields, stream.handle)));
  }
  const auto outside = [](Batch& batch, Stream on) {
    const std::int64_t number = 8000;
    REQUIRE(cudaMemcpyAsync(batch["table_row"].raw(), &number, sizeof number,
                            cudaMemcpyHostToDevice,
                            static_cast<cudaStream_t>(on.handle)) == cudaSuccess);
  };
  Loader loader = ordered(table, Tail::drop)
                      .to(Device::cuda(0))
                      .then(outside)
                      .then(table->gather_step())
                      .build();
  const Batch batch = loader.next().batch;
  batch.also_used_on(Stream{stream.handle});
  for (const FieldSpec& field : fields) {
    const std::string first = bytes_on(batch[field.name].row(0), stream.handle);
    CHECK(first == std::string(first.size(), '\0'));
  }
}

}  // namespace headrace::test
