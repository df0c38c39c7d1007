#include <headrace/engine/base/error.h>
#include <headrace/loaders/memory/internal/gather_rows.h>
#include <headrace/loaders/memory/internal/table_gather.h>

#include <cstring>
#include <span>
#include <string>

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
