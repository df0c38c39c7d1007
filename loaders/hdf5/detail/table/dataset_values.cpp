#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/table/dataset_values.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>

namespace headrace::inline v1::detail {
namespace {

std::string trimmed(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

void add_utf8(std::string& text, char32_t character) {
  const auto rest = [&](int shift) {
    text += static_cast<char>(0x80U | ((character >> shift) & 0x3fU));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0U | (character >> 6));
    rest(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0U | (character >> 12));
    rest(6);
    rest(0);
  } else {
    text += static_cast<char>(0xf0U | (character >> 18));
    rest(12);
    rest(6);
    rest(0);
  }
}

/// A half of a pair alone becomes what no UTF-8 has.
std::string utf8_of(std::span<const std::uint16_t> units) {
  std::string text;
  for (std::size_t i = 0; i < units.size(); ++i) {
    char32_t character = units[i];
    const bool pair = (units[i] & 0xfc00U) == 0xd800U && i + 1 < units.size() &&
                      (units[i + 1] & 0xfc00U) == 0xdc00U;
    if (pair) character = 0x10000U + ((units[i] & 0x3ffU) << 10) + (units[i + 1] & 0x3ffU);
    i += pair ? 1 : 0;
    add_utf8(text, character);
  }
  return text;
}

}  // namespace

Tensor all_rows(const Hdf5Table& table, const std::string& name) {
  const FieldSpec field = table.fields()[0];
  if (field.kind != FieldSpec::Kind::fixed || table.size() == 0)
    throw ConfigError("[hdf5] " + name + ": must hold numbers, one row for each record, got " +
                      (table.size() == 0 ? "no row" : to_string(field)));
  Tensor all = Tensor::empty(field.dtype, field.shape.batched(table.size()));
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::array column{
      Rows::Column{.first = static_cast<std::byte*>(all.raw()), .stride = field.row_bytes()}};
  table.gather(rows, Rows(column, table.size()));
  return all;
}

Tensor turned(const Tensor& array) {
  const auto stored = array.shape().extents();
  const std::vector<std::int64_t> extents(stored.rbegin(), stored.rend());
  std::vector<std::int64_t> strides(extents.size());  // in `array`, by the axes of the other
  std::exclusive_scan(extents.begin(), extents.end(), strides.begin(), std::int64_t{1},
                      std::multiplies<>());
  Tensor all = Tensor::empty(array.dtype(), Shape(std::span<const std::int64_t>(extents)));
  const std::size_t size = size_of(array.dtype());
  const auto* from = static_cast<const std::byte*>(array.raw());
  auto* to = static_cast<std::byte*>(all.raw());
  std::vector<std::int64_t> place(extents.size());
  std::int64_t at = 0;
  for (std::int64_t left = all.shape().elements(); left > 0; --left, to += size) {
    std::memcpy(to, from + static_cast<std::size_t>(at) * size, size);
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      at += strides[axis];
      if (++place[axis] < extents[axis]) break;
      at -= strides[axis] * extents[axis];
      place[axis] = 0;
    }
  }
  return all;
}

std::vector<std::string> texts_of(const Hdf5Table& table) {
  const std::string field = table.fields()[0].name;
  std::vector<std::string> texts;
  Sample sample;
  for (std::int64_t row = 0; row < table.size(); ++row) {
    table.read(row, sample);
    const Tensor bytes = sample[field];
    texts.push_back(trimmed({static_cast<const char*>(bytes.raw()), bytes.bytes()}));
  }
  return texts;
}

std::vector<std::string> texts_of_chars(const Tensor& chars, const std::string& name) {
  if (chars.dtype() != DType::uint16 || chars.shape().rank() != 2)
    throw ConfigError("[hdf5] " + name + ": chars must be uint16 [records, chars], got " +
                      std::string(name_of(chars.dtype())) + " " + to_string(chars.shape()));
  const auto units = chars.values<std::uint16_t>();
  const auto length = static_cast<std::size_t>(chars.shape()[1]);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < units.size(); at += length)
    texts.push_back(trimmed(utf8_of(units.subspan(at, length))));
  return texts;
}

}  // namespace headrace::inline v1::detail
