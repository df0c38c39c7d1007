// Device memory of fields that batch operations make: set aside where the schema says what they
// are, found again by name where it does not.
#include "device_reading.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

constexpr std::int64_t odd_width = 17;

/// Late, as a kernel would be.
void fill_on(Stream stream, const Tensor& to, std::int64_t value) {
  device::run_on(stream, [to = to.data<std::uint8_t>(), count = to.elements(), value] {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    std::fill_n(to, count, static_cast<std::uint8_t>(value));
  });
}

/// Makes two fields of sizes that fill no piece of device memory.
struct Odd {
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("one", DType::uint8, Shape{}));
    out.put(FieldSpec::fixed("odd", DType::uint8, Shape{odd_width}));
    return out;
  }
  void operator()(Batch& batch, Stream stream) const {
    fill_on(stream, batch.make("one", DType::uint8, Shape{batch.size()}), batch.number());
    fill_on(stream, batch.make("odd", DType::uint8, Shape{batch.size(), odd_width}),
            batch.number() + 1);
  }
};

Loader with_step(auto... steps) {
  Pipeline pipeline = recipe(Device::cuda(0));
  ((pipeline = std::move(pipeline).then(steps)), ...);
  return pipeline.build({.runtime = Runtime({.threads = 2})});
}

/// Reads a field of every batch of an epoch, late; whether each holds what `expected` says.
bool holds(Loader& loader, TrainerStream& stream, std::int64_t epoch, const std::string& name,
           const std::function<std::string(const Batch&)>& expected) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(64);
  for (Batch& batch : loader.epoch(epoch, stream)) {
    auto& [seen, wanted] = pairs.emplace_back("", expected(batch));
    read_on(stream, batch[name], seen, 50);
  }
  stream.finish();
  return !pairs.empty() &&
         std::ranges::all_of(pairs, [](const auto& pair) { return pair.first == pair.second; });
}

std::string many(std::int64_t count, std::int64_t value) {
  return std::string(static_cast<std::size_t>(count), static_cast<char>(value));
}

TEST_CASE("Fields of odd sizes that the schema names take the ring's memory, tails included") {
  device::reset();
  TrainerStream stream;
  Loader loader = with_step(Odd{});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    CHECK(holds(loader, stream, epoch, "odd", [](const Batch& batch) {
      return many(batch.size() * odd_width, batch.number() + 1);
    }));
  }
  CHECK(device::calls().allocations == 1);
  CHECK(loader.forecast().device_bytes ==
        static_cast<std::size_t>(loader.stats().transfer.device_bytes));
}

TEST_CASE("A tail that comes first leaves room for the whole batches behind it") {
  device::reset();
  TrainerStream stream;
  Loader loader = with_step(Odd{});
  Position late = loader.position();
  late.position = 208;
  loader.seek(late);
  while (loader.next().status != NextBatch::Status::end) {
  }
  CHECK(holds(loader, stream, 1, "one",
              [](const Batch& batch) { return many(batch.size(), batch.number()); }));
  CHECK(device::calls().allocations == 1);
}

/// Makes the field "chain" of another dtype, the values one higher.
struct Next {
  DType dtype;
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("chain", dtype, Shape{100}));
    return out;
  }
  void operator()(Batch& batch, Stream stream) const {
    const Tensor from = batch.has("chain") ? batch["chain"] : Tensor();
    const Tensor to = batch.make("chain", dtype, Shape{batch.size(), 100});
    CHECK(to.raw() != from.raw());
    device::run_on(stream, [from = static_cast<const std::uint8_t*>(from.raw()),
                            to = static_cast<std::uint8_t*>(to.raw()), bytes = to.bytes()] {
      const int before = from == nullptr ? 0 : *from;
      std::fill_n(to, bytes, static_cast<std::uint8_t>(before + 1));
    });
  }
};

TEST_CASE("A field made by one step after another takes two pieces in turn, as foreseen") {
  device::reset();
  TrainerStream stream;
  Loader loader = with_step(Next{DType::uint8}, Next{DType::int16}, Next{DType::int64},
                            Next{DType::uint8}, Next{DType::int32});
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    CHECK(holds(loader, stream, epoch, "chain",
                [](const Batch& batch) { return many(batch.size() * 400, 5); }));
  }
  CHECK(device::calls().allocations == 1);
  Loader plain = loader_on(Device::cuda(0), 2);
  // At most 6400 bytes in turn with at most 1600, in whole pieces of 256.
  CHECK(loader.forecast().device_bytes - plain.forecast().device_bytes == 3 * (6400 + 1792));
}

/// Makes a field that no schema names, as long as it is told.
struct Unforeseen {
  std::function<std::int64_t(const Batch&)> length;
  void operator()(Batch& batch, Stream stream) const {
    fill_on(stream, batch.make("made", DType::uint8, Shape{length(batch)}), batch.number());
  }
};

TEST_CASE("Memory for a field in ever other shapes grows with the logarithm of the largest") {
  device::reset();
  TrainerStream stream;
  // Batch 0 has a thousand bytes, batch 26 has 27 thousand.
  const auto length = [](const Batch& batch) { return 1000 * (1 + batch.number()); };
  Loader loader = with_step(Unforeseen{length});
  const auto expected = [&](const Batch& batch) { return many(length(batch), batch.number()); };
  CHECK(holds(loader, stream, 0, "made", expected));
  CHECK(device::calls().allocations <= 1 + 3 * 6);
  for (std::int64_t epoch = 1; epoch < 5; ++epoch)
    CHECK(holds(loader, stream, epoch, "made", expected));
  CHECK(device::calls().allocations <= 1 + 3 * 6);
}

/// Reads the field "made" and makes it again, every byte one higher, in the shape that it has.
struct Again {
  void operator()(Batch& batch, Stream stream) const {
    const Tensor from = batch["made"];
    const Tensor to = batch.make("made", from.dtype(), from.shape());
    device::run_on(stream, [from = from.data<std::uint8_t>(), to = to.data<std::uint8_t>(),
                            count = from.elements()] {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      std::transform(from, from + count, to,
                     [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte + 1); });
    });
  }
};

TEST_CASE("A step that makes a field again writes beside what it reads, whatever their shapes") {
  device::reset();
  TrainerStream stream;
  const auto length = [](const Batch& batch) { return 100 + batch.number() * 7919 % 5000; };
  Loader loader = with_step(Unforeseen{length}, Again{}, Again{});
  const auto expected = [&](const Batch& batch) { return many(length(batch), batch.number() + 2); };
  for (std::int64_t epoch = 0; epoch < 4; ++epoch)
    CHECK(holds(loader, stream, epoch, "made", expected));
  CHECK(device::calls().allocations <= 1 + 2 * 3 * 6);
}

TEST_CASE("Memory for a field in shorter shapes than before is not taken anew") {
  device::reset();
  TrainerStream stream;
  const auto length = [](const Batch& batch) {
    return batch.epoch() == 0 ? 9000 : 9000 - 37 * batch.number() - batch.epoch();
  };
  Loader loader = with_step(Unforeseen{length});
  const auto expected = [&](const Batch& batch) { return many(length(batch), batch.number()); };
  CHECK(holds(loader, stream, 0, "made", expected));
  CHECK(device::calls().allocations == 1 + 3);
  for (std::int64_t epoch = 1; epoch < 4; ++epoch)
    CHECK(holds(loader, stream, epoch, "made", expected));
  CHECK(device::calls().allocations == 1 + 3);
}

}  // namespace
}  // namespace headrace::test
