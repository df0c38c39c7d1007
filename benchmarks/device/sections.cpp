#include <headrace/benchmarks/device/sections.h>

#include <memory>
#include <utility>

namespace headrace::inline v1::bench {

void StillSource::read(std::int64_t index, Sample& sample) const {
  for (const FieldSpec& field : fields_) {
    const Tensor row = sample.make(field.name, field.dtype, field.shape);
    if (field.name == "flip") *row.data<std::uint8_t>() = static_cast<std::uint8_t>(index & 1);
  }
}

void StillSource::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  std::size_t number = 0;
  for (const FieldSpec& field : fields_) {
    const std::size_t column = number++;
    if (field.name != "flip") continue;
    for (std::size_t k = 0; k < indices.size(); ++k)
      *rows.row(column, static_cast<std::int64_t>(k)) = static_cast<std::byte>(indices[k] & 1);
  }
}

Held hold(Pipeline pipeline, const Bench& bench) {
  Loader loader = std::move(pipeline)
                      .to(bench.side.device())
                      .build({.prefetch = 1,
                              .join_epochs = false,
                              .runtime = Runtime({.threads = bench.extent.threads})});
  Epoch epoch = loader.epoch(0, bench.side.stream());
  Batch batch = std::exchange(*epoch.begin(), Batch());
  return {std::move(loader), std::move(batch)};
}

Measured rate_of(const Bench& bench, std::string name, std::size_t bytes,
                 std::function<void()> work) {
  const int times = bench.extent.times(bytes);
  return {std::move(name), [&side = bench.side, bytes, times, work = std::move(work)] {
            return 1e-9 * static_cast<double>(bytes) / side.seconds_of_one(times, work);
          }};
}

Measured copy_of(const Bench& bench, std::size_t bytes) {
  const std::size_t half = bytes / 2;
  const auto memory =
      std::make_shared<std::pair<Memory, Memory>>(bench.side.here(half), bench.side.here(half));
  return rate_of(bench, copy_name, 2 * half, [&side = bench.side, memory, half] {
    side.copy(memory->second.data(), memory->first.data(), half, Way::on_device, side.stream());
  });
}

std::string in_megabytes(std::size_t bytes) {
  const auto tenths = (bytes + 50'000) / 100'000;
  const std::string whole = std::to_string(tenths / 10);
  return (tenths >= 100 ? whole : whole + "." + std::to_string(tenths % 10)) + " MB";
}

}  // namespace headrace::inline v1::bench
