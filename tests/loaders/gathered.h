#pragma once

#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headrace::test {

/// What a source's gather() writes, field by field, rows packed; throws when it writes between
/// rows.
inline std::vector<std::vector<std::byte>> gathered(const Source& source,
                                                    std::span<const std::int64_t> indices) {
  constexpr std::size_t gap = 24;
  constexpr std::byte untouched{0xa5};
  const Schema schema = source.fields();
  std::vector<std::vector<std::byte>> memory;
  std::vector<Rows::Column> columns;
  for (const FieldSpec& field : schema) {
    const std::size_t stride = field.row_bytes() + gap;
    memory.emplace_back(stride * indices.size(), untouched);
    columns.push_back({memory.back().data(), stride});
  }
  source.gather(indices, Rows(columns, static_cast<std::int64_t>(indices.size())));

  std::vector<std::vector<std::byte>> packed(schema.size());
  for (std::size_t i = 0; i < schema.size(); ++i) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const std::byte* row = memory[i].data() + k * columns[i].stride;
      packed[i].insert(packed[i].end(), row, row + schema[i].row_bytes());
      for (std::size_t j = 0; j < gap; ++j) {
        if (row[schema[i].row_bytes() + j] != untouched) {
          throw std::runtime_error("gather wrote behind a row of " + schema[i].name);
        }
      }
    }
  }
  return packed;
}

/// The same rows by read(), one after the other.
inline std::vector<std::vector<std::byte>> one_by_one(const Source& source,
                                                      std::span<const std::int64_t> indices) {
  const Schema schema = source.fields();
  std::vector<std::vector<std::byte>> packed(schema.size());
  for (std::int64_t index : indices) {
    Sample sample;
    source.read(index, sample);
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const Tensor& tensor = sample[schema[i].name];
      const auto* bytes = static_cast<const std::byte*>(tensor.raw());
      packed[i].insert(packed[i].end(), bytes, bytes + tensor.bytes());
    }
  }
  return packed;
}

/// `count` indices below `rows`, in no order, some twice.
inline std::vector<std::int64_t> scattered(std::int64_t rows, std::size_t count) {
  std::vector<std::int64_t> indices;
  for (std::size_t k = 0; k < count; ++k) {
    indices.push_back(
        static_cast<std::int64_t>((k * k * 7919 + k * 31 + 5) % static_cast<std::size_t>(rows)));
  }
  return indices;
}

/// The message of the E that `work` throws; empty when it throws none.
template <class E>
std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace headrace::test
