#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/label_names.h>
#include <headrace/loaders/listing/detail/record_values.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/loaders/npy/npy_table.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;
using detail::RecordValues;

[[noreturn]] void refuse(const fs::path& file, const std::string& rule) {
  throw ConfigError("[npy table] " + detail::printable(file.native()) + ": " + rule);
}

/// Calls `work` with the values of an array of numbers; false for another dtype.
template <class Work>
bool visit_numbers(const Tensor& array, const Work& work) {
  switch (array.dtype()) {
    case DType::uint8:
    case DType::boolean:  // a file may hold bytes that no bool has
      work(std::span(static_cast<const std::uint8_t*>(array.raw()), array.bytes()));
      return true;
    case DType::int32:
      work(array.values<std::int32_t>());
      return true;
    case DType::int64:
      work(array.values<std::int64_t>());
      return true;
    case DType::float32:
      work(array.values<float>());
      return true;
    case DType::float64:
      work(array.values<double>());
      return true;
    default:
      return false;
  }
}

[[noreturn]] void bad_row(const fs::path& file, std::size_t row, const std::string& rule) {
  throw DataError("[npy table] " + detail::printable(file.native()) + ": row " +
                  std::to_string(row) + " " + rule);
}

/// The labels as whole numbers, row by row.
std::vector<std::int64_t> whole_numbers(const Tensor& array, const fs::path& file,
                                        std::size_t columns) {
  std::vector<std::int64_t> numbers;
  const bool known = visit_numbers(array, [&](const auto& values) {
    for (const auto value : values) {
      const auto number = static_cast<double>(value);
      if (!(number >= 0.0 && number < detail::most_labels) || number != std::floor(number)) {
        bad_row(file, numbers.size() / columns,
                "must hold whole numbers from 0 on, got " + std::to_string(number));
      }
      numbers.push_back(static_cast<std::int64_t>(value));
    }
  });
  if (!known) {
    refuse(file, "labels must be bool, uint8, int32, int64, float32 or float64, got " +
                     std::string(name_of(array.dtype())));
  }
  return numbers;
}

void name_classes(RecordValues& values, const NpyTableOptions& options, std::size_t count) {
  if (!options.classes.empty() && options.classes.size() < count) {
    refuse(options.labels, "must have labels of the " + std::to_string(options.classes.size()) +
                               " classes, got " + std::to_string(count));
  }
  values.classes = options.classes;
  for (std::size_t label = values.classes.size(); label < count; ++label)
    values.classes.push_back(std::to_string(label));
}

void take_numbers(RecordValues& values, const NpyTableOptions& options, const Tensor& array) {
  if (options.multi_label)
    refuse(options.labels,
           "with multi_label must be flags [records, classes], got " + to_string(array.shape()));
  std::int64_t largest = -1;
  for (const std::int64_t label : whole_numbers(array, options.labels, 1)) {
    largest = std::max(largest, label);
    values.labels.push_back(static_cast<std::int32_t>(label));
  }
  name_classes(values, options, static_cast<std::size_t>(largest + 1));
}

void take_flags(RecordValues& values, const NpyTableOptions& options, const Tensor& array) {
  const auto columns = static_cast<std::size_t>(array.shape()[1]);
  if (!options.classes.empty() && options.classes.size() != columns) {
    refuse(options.labels, "must have a column for each of the " +
                               std::to_string(options.classes.size()) + " classes, got " +
                               std::to_string(columns));
  }
  name_classes(values, options, columns);
  const std::vector<std::int64_t> flags = whole_numbers(array, options.labels, columns);
  detail::LabelSets sets(values);
  std::vector<std::int32_t> ones;
  for (std::size_t row = 0; row * columns < flags.size(); ++row) {
    ones.clear();
    for (std::size_t column = 0; column < columns; ++column) {
      const std::int64_t flag = flags[row * columns + column];
      if (flag > 1) bad_row(options.labels, row, "must hold 0 and 1, got " + std::to_string(flag));
      if (flag == 1) ones.push_back(static_cast<std::int32_t>(column));
    }
    if (options.multi_label) {
      sets.add(ones);
    } else if (ones.size() == 1) {
      values.labels.push_back(ones.front());
    } else {
      bad_row(options.labels, row,
              "must hold one 1, got " + std::to_string(ones.size()) +
                  "; set multi_label where a record may have any number of classes");
    }
  }
}

RecordValues values_of(const NpyTableOptions& options, const Tensor& labels) {
  RecordValues values;
  if (labels.shape().rank() == 1) {
    take_numbers(values, options, labels);
  } else if (labels.shape().rank() == 2 && labels.shape()[1] > 0) {
    take_flags(values, options, labels);
  } else {
    refuse(options.labels,
           "labels must be [records] or [records, classes], got " + to_string(labels.shape()));
  }
  return values;
}

Tensor read_all(const fs::path& path) {
  const NpyFile file(path);
  if (file.shape().elements() == 0)
    refuse(path, "must hold at least one row, got shape " + to_string(file.shape()));
  return file.rows(0, file.shape()[0]);
}

/// The field of the labels, for all records.
TableColumn label_column(const RecordValues& values) {
  Schema schema;
  values.add_fields(schema);
  const FieldSpec& field = schema[0];
  const auto records = static_cast<std::int64_t>(values.labels.size());
  Tensor column = Tensor::empty(field.dtype, field.shape.batched(records));
  Sample sample;
  for (std::int64_t i = 0; i < records; ++i) {
    values.fill(static_cast<std::size_t>(i), sample);
    std::memcpy(column.row(i).raw(), sample[field.name].raw(), column.row(i).bytes());
  }
  return {field.name, std::move(column)};
}

}  // namespace

struct NpyTable::State {
  explicit State(const NpyTableOptions& options)
      : values(values_of(options, read_all(options.labels))),
        table({{options.field, read_all(options.features)}, label_column(values)},
              "npy table " + detail::printable(options.features.native())) {}

  RecordValues values;
  Table table;
};

NpyTable::NpyTable(const NpyTableOptions& options) : state_(std::make_unique<State>(options)) {}

NpyTable::~NpyTable() = default;

const detail::RecordValues& NpyTable::values() const noexcept {
  return state_->values;
}

std::string NpyTable::name() const {
  return state_->table.name();
}

std::int64_t NpyTable::size() const {
  return state_->table.size();
}

Schema NpyTable::fields() const {
  return state_->table.fields();
}

void NpyTable::read(std::int64_t index, Sample& sample) const {
  state_->table.read(index, sample);
}

void NpyTable::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  state_->table.gather(indices, rows);
}

std::size_t NpyTable::resident_bytes() const {
  return state_->table.resident_bytes() + state_->values.memory();
}

std::string NpyTable::origin(std::int64_t index) const {
  return state_->table.origin(index);
}

}  // namespace headrace::inline v1
