#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/loaders/listing/internal/label_array.h>

#include <array>
#include <numeric>
#include <sstream>

namespace headrace::inline v1 {
namespace {

std::string place_of(const Hdf5RecordsOptions& options, const std::string& dataset) {
  return detail::printable(options.table.file.native()) + ":" + dataset;
}

/// A table of one dataset. Labels are small and read once.
Hdf5Table table_of(const Hdf5RecordsOptions& options, const std::string& dataset, bool rows) {
  Hdf5TableOptions table = options.table;
  table.fields = {{.name = options.field, .dataset = dataset}};
  if (!rows) {
    table.attributes = {"class_names"};
    table.residence = Residence::file;
    table.stage.clear();
    table.log = {};
  }
  return Hdf5Table(std::move(table));
}

Tensor read_all(const Hdf5RecordsOptions& options, const Hdf5Table& table,
                const std::string& dataset) {
  const FieldSpec field = table.fields()[0];
  if (field.kind != FieldSpec::Kind::fixed || table.size() == 0)
    throw ConfigError("[hdf5] " + place_of(options, dataset) +
                      ": must hold numbers, one row for each record, got " +
                      (table.size() == 0 ? "no row" : to_string(field)));
  Tensor all = Tensor::empty(field.dtype, field.shape.batched(table.size()));
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::array column{
      Rows::Column{.first = static_cast<std::byte*>(all.raw()), .stride = field.row_bytes()}};
  table.gather(rows, Rows(column, table.size()));
  return all;
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

detail::RecordValues values_of(const Hdf5RecordsOptions& options) {
  detail::RecordValues values;
  if (!options.labels.empty()) {
    const Hdf5Table labels = table_of(options, options.labels, false);
    const std::vector<std::string> said = named_classes(labels);
    if (options.classes_fixed && !said.empty() && said != options.classes)
      throw DataError(
          "[hdf5] " + place_of(options, options.labels) +
          ": the attribute class_names must be the classes that are wanted, in their order; "
          "change the labels with it, or remove it");
    detail::take_labels(values, {.name = place_of(options, options.labels),
                                 .values = read_all(options, labels, options.labels),
                                 .classes = options.classes.empty() ? said : options.classes,
                                 .multi_label = options.multi_label});
  }
  if (!options.groups.empty())
    detail::take_groups(
        values, place_of(options, options.groups),
        read_all(options, table_of(options, options.groups, false), options.groups));
  return values;
}

}  // namespace

Hdf5Records::Hdf5Records(const Hdf5RecordsOptions& options)
    : Hdf5Records(options,
                  std::make_shared<const Hdf5Table>(table_of(options, options.data, true))) {}

Hdf5Records::Hdf5Records(const Hdf5RecordsOptions& options, std::shared_ptr<const Hdf5Table> table)
    : LabelledRows(table, values_of(options)), table_(std::move(table)) {}

}  // namespace headrace::inline v1
