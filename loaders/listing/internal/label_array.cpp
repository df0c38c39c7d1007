#include <headrace/engine/base/error.h>
#include <headrace/engine/base/utf8.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/internal/label_array.h>
#include <headrace/loaders/listing/internal/label_names.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& rule) {
  throw ConfigError("[labels] " + name + ": " + rule);
}

[[noreturn]] void bad_row(const std::string& name, std::size_t row, const std::string& rule) {
  throw DataError("[labels] " + name + ": row " + std::to_string(row) + " " + rule);
}

/// Calls `work` with the values of an array of numbers; false for another dtype.
template <class Work>
bool visit_numbers(const Tensor& array, const Work& work) {
  // clang-format off
  switch (array.dtype()) {
    case DType::boolean:  // a file may hold bytes that no bool has
    case DType::uint8:
      work(std::span(static_cast<const std::uint8_t*>(array.raw()), array.bytes()));
      return true;
    case DType::int8: work(array.values<std::int8_t>()); return true;
    case DType::uint16: work(array.values<std::uint16_t>()); return true;
    case DType::int16: work(array.values<std::int16_t>()); return true;
    case DType::uint32: work(array.values<std::uint32_t>()); return true;
    case DType::int32: work(array.values<std::int32_t>()); return true;
    case DType::uint64: work(array.values<std::uint64_t>()); return true;
    case DType::int64: work(array.values<std::int64_t>()); return true;
    case DType::float32: work(array.values<float>()); return true;
    case DType::float64: work(array.values<double>()); return true;
    default: return false;
  }
  // clang-format on
}

/// The array as whole numbers below `end`, row by row.
std::vector<std::int64_t> whole_numbers(const std::string& name, const Tensor& array,
                                        std::size_t columns, double end) {
  std::vector<std::int64_t> numbers;
  const bool known = visit_numbers(array, [&](const auto& values) {
    for (const auto value : values) {
      const auto number = static_cast<double>(value);
      if (!(number >= 0.0 && number < end) || number != std::floor(number))
        bad_row(name, numbers.size() / columns,
                "must hold whole numbers from 0 on, got " + std::to_string(number));
      numbers.push_back(static_cast<std::int64_t>(value));
    }
  });
  if (!known)
    refuse(name, "must be booleans, integers, float32 or float64, got " +
                     std::string(name_of(array.dtype())));
  return numbers;
}

void name_classes(RecordValues& values, const LabelArray& labels, std::size_t count) {
  for (const std::string& name : labels.classes) {
    if (name.size() > longest_name || !is_utf8(name))
      refuse(labels.name, "must have classes with names in UTF-8 of at most " +
                              std::to_string(longest_name) + " bytes, got " + detail::quoted(name));
  }
  values.classes = labels.classes;
  for (std::size_t label = values.classes.size(); label < count; ++label)
    values.classes.push_back("class" + std::to_string(label));
}

void take_numbers(RecordValues& values, const LabelArray& labels) {
  if (labels.multi_label)
    refuse(labels.name, "of multi_label must be flags [records, classes], got " +
                            to_string(labels.values.shape()));
  const std::vector<std::int64_t> numbers =
      whole_numbers(labels.name, labels.values, 1, most_labels);
  const auto largest = std::ranges::max_element(numbers);
  const std::size_t known = labels.classes.size();
  if (known > 0 && *largest >= static_cast<std::int64_t>(known))
    bad_row(labels.name, static_cast<std::size_t>(largest - numbers.begin()),
            "must hold a label of the " + std::to_string(known) + " classes, 0 to " +
                std::to_string(known - 1) + ", got " + std::to_string(*largest));
  for (const std::int64_t label : numbers)
    values.labels.push_back(static_cast<std::int32_t>(label));
  name_classes(values, labels, static_cast<std::size_t>(*largest + 1));
}

void take_flags(RecordValues& values, const LabelArray& labels) {
  const auto columns = static_cast<std::size_t>(labels.values.shape()[1]);
  if (!labels.classes.empty() && labels.classes.size() != columns)
    refuse(labels.name, "must have a column for each of the " +
                            std::to_string(labels.classes.size()) + " classes, got " +
                            std::to_string(columns));
  name_classes(values, labels, columns);
  const std::vector<std::int64_t> flags =
      whole_numbers(labels.name, labels.values, columns, most_labels);
  LabelSets sets(values);
  std::vector<std::int32_t> ones;
  for (std::size_t row = 0; row * columns < flags.size(); ++row) {
    ones.clear();
    for (std::size_t column = 0; column < columns; ++column) {
      const std::int64_t flag = flags[row * columns + column];
      if (flag > 1) bad_row(labels.name, row, "must hold 0 and 1, got " + std::to_string(flag));
      if (flag == 1) ones.push_back(static_cast<std::int32_t>(column));
    }
    if (labels.multi_label)
      sets.add(ones);
    else if (ones.size() == 1)
      values.labels.push_back(ones.front());
    else
      bad_row(labels.name, row,
              "must hold one 1, got " + std::to_string(ones.size()) +
                  "; set multi_label where a record may have any number of classes");
  }
}

void require_text(const LabelArray& array, std::size_t row) {
  if (array.texts[row].empty()) bad_row(array.name, row, "must hold a name, got an empty text");
}

void take_names(RecordValues& values, const LabelArray& labels) {
  if (labels.multi_label)
    refuse(labels.name, "of multi_label must be flags [records, classes], got strings");
  LabelNames names;
  for (const std::string& name : labels.classes)
    names.number(name);
  if (names.size() != labels.classes.size())
    refuse(labels.name, "must have classes of different names where strings are labels");
  for (std::size_t row = 0; row < labels.texts.size(); ++row) {
    require_text(labels, row);
    values.labels.push_back(names.number(labels.texts[row]));
    if (!labels.classes.empty() && names.size() > labels.classes.size())
      bad_row(labels.name, row,
              "must hold the name of one of the " + std::to_string(labels.classes.size()) +
                  " classes, got " + detail::quoted(labels.texts[row]));
  }
  LabelArray named{.name = labels.name, .classes = labels.classes};
  if (named.classes.empty()) named.classes = names.settle(values.labels);
  name_classes(values, named, 0);
}

}  // namespace

void take_labels(RecordValues& values, const LabelArray& labels) {
  if (!labels.texts.empty()) return take_names(values, labels);
  const Shape& shape = labels.values.shape();
  if (shape.elements() == 0)
    refuse(labels.name, "must hold at least one label, got " + to_string(shape));
  const bool one_column = shape.rank() == 2 && shape[1] == 1 && !labels.multi_label;
  if (shape.rank() == 1 || one_column)
    take_numbers(values, labels);
  else if (shape.rank() == 2)
    take_flags(values, labels);
  else
    refuse(labels.name, "must be [records] or [records, classes], got " + to_string(shape));
}

void take_groups(RecordValues& values, const LabelArray& groups) {
  LabelNames names;
  for (std::size_t row = 0; row < groups.texts.size(); ++row) {
    require_text(groups, row);
    values.groups.push_back(names.number(groups.texts[row]));
  }
  values.group_names = names.settle(values.groups);
  if (!groups.texts.empty()) return;
  const Shape& shape = groups.values.shape();
  if (shape.rank() != 1 && !(shape.rank() == 2 && shape[1] == 1))
    refuse(groups.name, "groups must be [records], got " + to_string(shape));
  constexpr double exact = 9007199254740992.0;  // whole numbers that a double holds
  std::map<std::int64_t, std::int32_t> places;
  const std::vector<std::int64_t> numbers = whole_numbers(groups.name, groups.values, 1, exact);
  for (const std::int64_t number : numbers)
    places.emplace(number, 0);
  for (auto& [number, place] : places) {
    place = static_cast<std::int32_t>(values.group_names.size());
    values.group_names.push_back(std::to_string(number));
  }
  for (const std::int64_t number : numbers)
    values.groups.push_back(places.at(number));
}

Tensor label_rows(const RecordValues& values) {
  Schema schema;
  values.add_fields(schema);
  if (schema.size() == 0) return {};
  const FieldSpec& field = schema[0];
  const auto records = static_cast<std::int64_t>(values.labels.size());
  Tensor rows = Tensor::empty(field.dtype, field.shape.batched(records));
  Sample sample;
  for (std::int64_t i = 0; i < records; ++i) {
    values.fill(static_cast<std::size_t>(i), sample);
    std::memcpy(rows.row(i).raw(), sample[field.name].raw(), field.row_bytes());
  }
  return rows;
}

}  // namespace headrace::inline v1::detail
