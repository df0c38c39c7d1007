#pragma once

#include <headrace/engine/headrace.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headrace::test {

struct TableOptions {
  std::int64_t records = 100;
  bool gathers = false;
  bool blocking = false;
};

/// Records of known content: "index" is the record's number, "value" sixteen bytes that follow from
/// it. The hook runs when half a record is written; what it throws leaves the other half as it was.
class TableSource : public Source {
 public:
  static constexpr int width = 16;
  using Hook = std::function<void(std::int64_t index)>;

  explicit TableSource(TableOptions options, Hook hook = {})
      : options_(options), hook_(std::move(hook)) {}

  static std::uint8_t value_at(std::int64_t index, int place) {
    const auto mixed = (static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15ULL) >> 24;
    return static_cast<std::uint8_t>(1 + (mixed + static_cast<std::uint64_t>(place) * 37) % 255);
  }

  std::string name() const override { return "table"; }
  std::int64_t size() const override { return options_.records; }
  Schema fields() const override {
    return {FieldSpec::fixed("index", DType::int64, Shape{}),
            FieldSpec::fixed("value", DType::uint8, Shape{width})};
  }
  bool blocking() const override { return options_.blocking; }
  bool gathers() const override { return options_.gathers; }
  std::string origin(std::int64_t index) const override { return "row-" + std::to_string(index); }

  void read(std::int64_t index, Sample& sample) const override {
    sample.set_scalar<std::int64_t>("index", index);
    fill(index, sample.make("value", DType::uint8, Shape{width}).data<std::uint8_t>());
  }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const auto row = static_cast<std::int64_t>(k);
      std::memcpy(rows.row(0, row), &indices[k], sizeof(std::int64_t));
      fill(indices[k], reinterpret_cast<std::uint8_t*>(rows.row(1, row)));
    }
  }

  /// Records that were begun.
  std::int64_t reads() const { return reads_.load(); }

 private:
  void fill(std::int64_t index, std::uint8_t* out) const {
    reads_.fetch_add(1);
    for (int k = 0; k < width / 2; ++k)
      out[k] = value_at(index, k);
    if (hook_) hook_(index);
    for (int k = width / 2; k < width; ++k)
      out[k] = value_at(index, k);
  }

  TableOptions options_;
  Hook hook_;
  mutable std::atomic<std::int64_t> reads_{0};
};

inline std::shared_ptr<TableSource> table(TableOptions options, TableSource::Hook hook = {}) {
  return std::make_shared<TableSource>(options, std::move(hook));
}

/// A "decoding" step: turns every byte round, in other memory.
struct Unpack {
  static constexpr bool decodes = true;
  std::string name() const { return "decode"; }
  void operator()(Sample& sample) const {
    const Tensor packed = sample["value"];
    std::uint8_t* out = sample.make("value", DType::uint8, packed.shape()).data<std::uint8_t>();
    const std::uint8_t* in = packed.data<std::uint8_t>();
    for (std::int64_t k = 0; k < packed.elements(); ++k)
      out[k] = static_cast<std::uint8_t>(~in[k]);
  }
};

/// Adds the field "sum".
struct Sum {
  std::string name() const { return "sum"; }
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("sum", DType::int64, Shape{}));
    return out;
  }
  void operator()(Sample& sample) const {
    std::int64_t sum = 0;
    for (std::uint8_t value : sample["value"].values<std::uint8_t>())
      sum += value;
    sample.set_scalar<std::int64_t>("sum", sum);
  }
};

/// A random step, in place.
struct Jitter {
  std::string called = "jitter";
  std::string name() const { return called; }
  void operator()(Sample& sample, Random& random) const {
    for (std::uint8_t& value : sample["value"].values<std::uint8_t>())
      value = static_cast<std::uint8_t>(value + random.below(7));
  }
};

/// The pipeline of most tests: shuffled, decode, sum and, when wanted, a random step.
inline Pipeline work_on(std::shared_ptr<const Source> source, bool random, std::uint64_t seed = 7) {
  Pipeline steps = Pipeline::from(std::move(source))
                       .named("train")
                       .order(Shuffled{.seed = seed})
                       .then(Unpack{})
                       .then(Sum{});
  if (random) return std::move(steps).then(Jitter{});
  return steps;
}

/// The rows as the source gives them: with a gathering source nothing but gather() runs.
inline Pipeline rows_of_source(std::shared_ptr<const Source> source, std::uint64_t seed = 7) {
  return Pipeline::from(std::move(source)).named("train").order(Shuffled{.seed = seed});
}

/// Gathering sources as they are, the others with work done on their samples.
inline Pipeline stream_on(const TableOptions& options, TableSource::Hook hook = {},
                          std::uint64_t seed = 7) {
  if (options.gathers) return rows_of_source(table(options, std::move(hook)), seed);
  return work_on(table(options, std::move(hook)), true, seed);
}

/// The bytes of a tensor.
inline std::string bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), tensor.bytes()};
}

/// The bytes of all fields of a batch, one after another.
inline std::string fields_of(const Batch& batch) {
  std::string bytes;
  for (const std::string& name : batch.names())
    bytes += bytes_of(batch[name]);
  return bytes;
}

/// Everything a trainer could see of a batch.
inline std::string bytes_of(const Batch& batch) {
  std::string bytes = std::to_string(batch.epoch()) + ":" + std::to_string(batch.number());
  for (const std::string& name : batch.names()) {
    const Tensor field = batch[name];
    bytes += name + to_string(field.shape()) + bytes_of(field);
  }
  return bytes;
}

/// One string a row; for fields of fixed shape.
inline std::vector<std::string> rows_of(const Batch& batch) {
  std::vector<std::string> rows(static_cast<std::size_t>(batch.size()));
  for (const std::string& name : batch.names()) {
    const Tensor field = batch[name];
    for (std::int64_t row = 0; row < batch.size(); ++row)
      rows[static_cast<std::size_t>(row)] += bytes_of(field.row(row));
  }
  return rows;
}

inline std::vector<std::int64_t> indices_of(const Batch& batch) {
  const auto indices = batch["index"].values<std::int64_t>();
  return {indices.begin(), indices.end()};
}

/// What a trainer got over some epochs.
struct Delivered {
  std::vector<std::string> batches;
  std::vector<std::string> rows;
  std::vector<Position> after;
};

inline Delivered stream_of(Loader& loader, std::int64_t first_epoch, std::int64_t epochs) {
  Delivered stream;
  for (std::int64_t epoch = first_epoch; epoch < first_epoch + epochs; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      stream.batches.push_back(bytes_of(batch));
      for (std::string& row : rows_of(batch))
        stream.rows.push_back(std::move(row));
      stream.after.push_back(batch.position_after());
    }
  }
  return stream;
}

/// As vector == vector, without printing kilobytes of bytes when it fails.
inline bool same(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return a == b;
}

}  // namespace headrace::test
