#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/require_index.h>
#include <headrace/loaders/memory/internal/gather_rows.h>
#include <headrace/loaders/memory/internal/table_gather.h>
#include <headrace/loaders/memory/table.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {

void gather_on_host(const TableGather& task) {
  const std::span<const std::int64_t> rows(task.rows, static_cast<std::size_t>(task.count));
  for (const std::int64_t row : rows) {
    if (row >= 0 && row < task.table_rows) continue;
    throw PipelineError("[gather] row numbers lie in [0, " + std::to_string(task.table_rows) +
                        "), got " + std::to_string(row) +
                        "; leave the field of row numbers as the table made it");
  }
  for (const GatherColumn& column :
       std::span(task.columns, static_cast<std::size_t>(task.column_count))) {
    gather_rows(column.table, column.row_bytes, rows, {column.out, column.row_bytes});
    if (task.valid == nullptr) continue;
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (!task.valid[k]) std::memset(column.out + k * column.row_bytes, 0, column.row_bytes);
  }
}

}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {
namespace {

void check_column(const TableColumn& column, const TableColumn& first, const std::string& who) {
  const auto refuse = [&](const std::string& rule) {
    throw ConfigError("[" + who + "] column \"" + column.name + "\": " + rule);
  };
  if (!column.rows.defined() || column.rows.shape().rank() < 1) {
    refuse("needs a leading extent of rows, got shape " + to_string(column.rows.shape()) +
           "; give a tensor of shape [rows, ...]");
  }
  if (column.rows.device().is_cuda()) {
    refuse("must lie in host memory, is on " + to_string(column.rows.device()) + "; copy it first");
  }
  if (column.rows.shape()[0] != first.rows.shape()[0]) {
    refuse("has " + std::to_string(column.rows.shape()[0]) + " rows but \"" + first.name +
           "\" has " + std::to_string(first.rows.shape()[0]) + "; columns need one length");
  }
}

}  // namespace

Table::Table(std::vector<TableColumn> columns, std::string name)
    : columns_(std::move(columns)), name_(std::move(name)) {
  if (columns_.empty()) throw ConfigError("[" + name_ + "] needs at least one column, got none");
  for (auto column = columns_.begin(); column != columns_.end(); ++column) {
    check_column(*column, columns_.front(), name_);
    const auto same = [&](const TableColumn& other) { return other.name == column->name; };
    if (std::any_of(columns_.begin(), column, same)) {
      throw ConfigError("[" + name_ + "] column \"" + column->name +
                        "\": the name comes twice; rename one");
    }
  }
  rows_ = columns_.front().rows.shape()[0];
}

Schema Table::fields() const {
  Schema schema;
  for (const TableColumn& column : columns_) {
    schema.put(FieldSpec::fixed(column.name, column.rows.dtype(), column.rows.shape().row()));
  }
  return schema;
}

void Table::read(std::int64_t index, Sample& sample) const {
  detail::require_index(index, rows_);
  for (const TableColumn& column : columns_)
    sample.set(column.name, column.rows.row(index));
}

void Table::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  detail::require_indices(indices, rows_);
  for (std::size_t field = 0; field < columns_.size(); ++field) {
    const Tensor& column = columns_[field].rows;
    const std::size_t row_bytes =
        column.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(rows_, 1));
    detail::gather_rows(static_cast<const std::byte*>(column.raw()), row_bytes, indices,
                        rows[field]);
  }
}

std::size_t Table::resident_bytes() const {
  std::size_t bytes = 0;
  for (const TableColumn& column : columns_)
    bytes += column.rows.bytes();
  return bytes;
}

std::string Table::origin(std::int64_t index) const {
  return name_ + "[" + std::to_string(index) + "]";
}

}  // namespace headrace::inline v1
