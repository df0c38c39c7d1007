#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/table/dataset_values.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/loaders/listing/internal/label_array.h>
#include <headrace/loaders/memory/table.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace headrace::inline v1 {
namespace {

std::string place_of(const Hdf5RecordsOptions& options, const std::string& dataset) {
  return detail::printable(options.table.file.native()) + ":" + detail::printable(dataset);
}

[[noreturn]] void refuse(const Hdf5RecordsOptions& options, const std::string& dataset,
                         const std::string& rule) {
  throw ConfigError("[hdf5] " + place_of(options, dataset) + ": " + rule);
}

/// What is read, and of MATLAB whether with its axes turned.
struct Column {
  Hdf5DatasetFacts facts{};
  bool turned = false;

  std::int64_t rows(bool turn) const {
    const int rank = facts.shape.rank();
    return rank == 0 ? 0 : facts.shape[turn ? rank - 1 : 0];
  }
  bool strings() const { return facts.text && facts.matlab.empty(); }
  bool may_turn() const { return !facts.matlab.empty() && facts.shape.rank() > 1; }
};

struct Columns {
  Column data{}, labels{}, groups{};
};

/// A table of one dataset. What stands beside the rows is small and read once.
Hdf5Table table_of(const Hdf5RecordsOptions& options, const Column& column, bool rows) {
  Hdf5TableOptions table = options.table;
  table.fields = {{.name = options.field, .dataset = column.facts.path}};
  if (!rows || column.turned) table.residence = Residence::file;
  if (!rows) {
    table.attributes = {"class_names"};
    table.stage.clear();
    table.log = {};
    if (column.strings()) table.sample_axes = column.facts.shape.rank();
  }
  return Hdf5Table(std::move(table));
}

/// "cat, dog" as its words.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream rest(text);
  for (std::string word; std::getline(rest, word, ',');) {
    const auto first = word.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    words.push_back(word.substr(first, word.find_last_not_of(' ') + 1 - first));
  }
  return words;
}

/// Of the labels, else of the file: attributes of the root come first.
std::vector<std::string> named_classes(const Hdf5Table& labels) {
  std::vector<std::string> names;
  for (const Hdf5Attribute& attribute : labels.attributes())
    if (attribute.name == "class_names")
      names = attribute.texts.empty() ? words_of(attribute.text) : attribute.texts;
  return names;
}

/// Numbers, or the texts of strings.
detail::LabelArray array_of(const Hdf5RecordsOptions& options, const Column& column,
                            const Hdf5Table& table) {
  detail::LabelArray array{.name = place_of(options, column.facts.path)};
  const Shape& shape = column.facts.shape;
  if (column.strings()) {
    if (shape.rank() != 1 && !(shape.rank() == 2 && shape[1] == 1))
      refuse(options, column.facts.path, "strings must be [records], got " + to_string(shape));
    array.texts = detail::texts_of(table);
    return array;
  }
  array.values = detail::all_rows(table, array.name);
  if (column.turned) array.values = detail::turned(array.values);
  if (column.facts.text) array.texts = detail::texts_of_chars(array.values, array.name);
  return array;
}

detail::RecordValues values_of(const Hdf5RecordsOptions& options, const Columns& columns) {
  detail::RecordValues values;
  if (!options.labels.empty()) {
    const Hdf5Table table = table_of(options, columns.labels, false);
    const std::vector<std::string> said = named_classes(table);
    if (options.classes_fixed && !said.empty() && said != options.classes)
      throw DataError(
          "[hdf5] " + place_of(options, options.labels) +
          ": the attribute class_names must be the classes that are wanted, in their order; "
          "change the labels with it, or remove it");
    detail::LabelArray labels = array_of(options, columns.labels, table);
    labels.classes = options.classes.empty() ? said : options.classes;
    labels.multi_label = options.multi_label;
    detail::take_labels(values, labels);
  }
  if (!options.groups.empty())
    detail::take_groups(
        values, array_of(options, columns.groups, table_of(options, columns.groups, false)));
  return values;
}

/// By which axis data and labels have as many records; of MATLAB what cannot be told is refused.
void turn_to_labels(const Hdf5RecordsOptions& options, Column& data, Column& labels) {
  std::vector<std::array<bool, 2>> fitting;
  for (const bool turn_data : {false, true})
    for (const bool turn_labels : {false, true})
      if ((!turn_data || data.may_turn()) && (!turn_labels || labels.may_turn()) &&
          data.rows(turn_data) > 1 && data.rows(turn_data) == labels.rows(turn_labels))
        fitting.push_back({turn_data, turn_labels});
  if (fitting.size() == 1) {
    data.turned = fitting.front()[0];
    labels.turned = fitting.front()[1];
  } else if (labels.facts.fault.empty() && (data.may_turn() || fitting.size() > 1)) {
    refuse(options, data.facts.path,
           "was written by MATLAB and must have as many records as " +
               detail::printable(labels.facts.path) + " along its first or its last axis, got " +
               to_string(data.facts.shape) + " and " + to_string(labels.facts.shape) +
               (fitting.empty() ? "" : ", which fit both ways") +
               "; write the file so that one axis fits");
  }
}

/// By the shape of a record, where nothing else tells.
void turn_to_record(const Hdf5RecordsOptions& options, Column& data) {
  if (!data.may_turn() || options.record.rank() == 0) return;
  const auto stored = data.facts.shape.extents();
  const auto wanted = options.record.extents();
  const bool as_stored = std::ranges::equal(stored.subspan(1), wanted);
  data.turned = std::equal(stored.rbegin() + 1, stored.rend(), wanted.begin(), wanted.end());
  if (as_stored == data.turned)
    refuse(options, data.facts.path,
           "was written by MATLAB, and its records must be " + to_string(options.record) +
               " along its first or its last axis, got " + to_string(data.facts.shape) +
               "; write it so that one of them fits");
}

Columns columns_of(const Hdf5RecordsOptions& options) {
  std::vector<std::string> paths{options.data};
  for (const std::string& path : {options.labels, options.groups})
    if (!path.empty()) paths.push_back(path);
  std::vector<Hdf5DatasetFacts> facts = hdf5_dataset_facts(options.table.file, paths);
  Columns columns{.data = {.facts = facts.front()}};
  if (columns.data.facts.text)
    refuse(options, options.data, "records must be numbers, got " + to_string(facts.front()));
  if (!options.groups.empty()) columns.groups.facts = std::move(facts.back());
  if (!options.labels.empty()) {
    columns.labels.facts = std::move(facts[1]);
    turn_to_labels(options, columns.data, columns.labels);
  } else {
    turn_to_record(options, columns.data);
  }
  Column& groups = columns.groups;
  const std::int64_t records = columns.data.rows(columns.data.turned);
  groups.turned =
      groups.may_turn() && groups.rows(false) != records && groups.rows(true) == records;
  return columns;
}

std::shared_ptr<const Source> turned_rows(const Hdf5RecordsOptions& options,
                                          const Hdf5Table& table) {
  const std::string place = place_of(options, options.data);
  const std::size_t bytes =
      2 * table.fields()[0].row_bytes() * static_cast<std::size_t>(table.size());
  if (bytes > options.table.memory || !options.table.more_files.empty())
    throw ResourceError("[hdf5] " + place + ": MATLAB wrote it with its axes turned; turning it " +
                        "back needs one file and " + std::to_string(bytes) +
                        " bytes of memory, allowed are " + std::to_string(options.table.memory) +
                        "; allow more, or write it with the records as MATLAB's last axis "
                        "(permute)");
  return std::make_shared<const Table>(
      std::vector<TableColumn>{{options.field, detail::turned(detail::all_rows(table, place))}},
      place);
}

}  // namespace

struct Hdf5Records::Opened {
  std::shared_ptr<const Hdf5Table> table{};
  std::shared_ptr<const Source> rows{};
  detail::RecordValues values{};
};

Hdf5Records::Hdf5Records(const Hdf5RecordsOptions& options) : Hdf5Records(open(options)) {}

Hdf5Records::Hdf5Records(Opened opened)
    : LabelledRows(std::move(opened.rows), std::move(opened.values)),
      table_(std::move(opened.table)) {}

Hdf5Records::Opened Hdf5Records::open(const Hdf5RecordsOptions& options) {
  const Columns columns = columns_of(options);
  Opened opened{.table = std::make_shared<const Hdf5Table>(table_of(options, columns.data, true))};
  opened.rows = opened.table;
  if (columns.data.turned) opened.rows = turned_rows(options, *opened.table);
  opened.values = values_of(options, columns);
  return opened;
}

}  // namespace headrace::inline v1
