#pragma once

#include <headrace/engine/batch/batch.h>
#include <headrace/loaders/memory/table.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::test {

/// Hides gather(), so that records are read one by one.
class ReadOnly final : public Source {
 public:
  explicit ReadOnly(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  std::string name() const override { return source_->name(); }
  std::int64_t size() const override { return source_->size(); }
  Schema fields() const override { return source_->fields(); }
  void read(std::int64_t index, Sample& sample) const override { source_->read(index, sample); }
  std::string origin(std::int64_t index) const override { return source_->origin(index); }

 private:
  std::shared_ptr<const Source> source_;
};

/// A table with a field of every dtype and of rows of odd and even lengths, "bytes-<length>".
inline std::shared_ptr<const Source> every_layout(std::int64_t rows, bool gathers) {
  std::vector<TableColumn> columns;
  const auto add = [&](std::string name, DType dtype, const Shape& row) {
    Tensor tensor = Tensor::empty(dtype, row.batched(rows));
    auto* bytes = static_cast<std::uint8_t*>(tensor.raw());
    for (std::size_t i = 0; i < tensor.bytes(); ++i)
      bytes[i] = static_cast<std::uint8_t>(1 + (i * 131 + i / 251 + columns.size()) % 255);
    if (dtype == DType::boolean)
      for (std::size_t i = 0; i < tensor.bytes(); ++i)
        bytes[i] &= 1;
    columns.push_back({std::move(name), std::move(tensor)});
  };
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    add("scalar-" + std::string(name_of(dtype)), dtype, {});
    add("plane-" + std::string(name_of(dtype)), dtype, {3, 5});
  }
  for (const std::int64_t length : {1, 3, 6, 12, 24, 48, 640, 1000})
    add("bytes-" + std::to_string(length), DType::uint8, {length});
  auto table = std::make_shared<const Table>(std::move(columns));
  if (gathers) return table;
  return std::make_shared<const ReadOnly>(table);
}

/// The bytes of the given fields, and of "valid", with their shapes.
inline std::string all_fields(const Batch& batch, const Schema& fields) {
  std::string text;
  const auto add = [&](const std::string& name) {
    const Tensor field = batch[name];
    text += name + to_string(field.shape()) +
            std::string(static_cast<const char*>(field.raw()), field.bytes());
  };
  for (const FieldSpec& field : fields)
    add(field.name);
  if (batch.has("valid")) add("valid");
  return text;
}

}  // namespace headrace::test
