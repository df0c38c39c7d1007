#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/internal/label_array.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/loaders/npy/npy_rows.h>
#include <headrace/loaders/npy/npy_table.h>

#include <memory>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

Tensor read_all(const fs::path& path) {
  const NpyFile file(path);
  if (file.shape().elements() == 0)
    throw ConfigError("[npy table] " + detail::printable(path.native()) +
                      ": must hold at least one row, got shape " + to_string(file.shape()));
  return file.rows(0, file.shape()[0]);
}

std::shared_ptr<const Source> rows_of(const NpyTableOptions& options) {
  if (!options.in_memory) return std::make_shared<const NpyRows>(options.features, options.field);
  return std::make_shared<const Table>(
      std::vector<TableColumn>{{options.field, read_all(options.features)}},
      "npy table " + detail::printable(options.features.native()));
}

detail::RecordValues values_of(const NpyTableOptions& options) {
  detail::RecordValues values;
  if (!options.labels.empty())
    detail::take_labels(values, {.name = detail::printable(options.labels.native()),
                                 .values = read_all(options.labels),
                                 .classes = options.classes,
                                 .multi_label = options.multi_label});
  if (!options.groups.empty())
    detail::take_groups(values, {.name = detail::printable(options.groups.native()),
                                 .values = read_all(options.groups)});
  return values;
}

}  // namespace

NpyTable::NpyTable(const NpyTableOptions& options)
    : LabelledRows(rows_of(options), values_of(options)) {}

}  // namespace headrace::inline v1
