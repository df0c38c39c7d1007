#include <cstring>
#include <span>
#include <string>

#include <headrace/engine/base/error.h>
#include <headrace/loaders/memory/detail/gather_rows.h>
#include <headrace/loaders/memory/detail/table_gather.h>

namespace headrace::inline v1::detail {

void gather_on_host(const TableGather& task) {
  const std::span<const std::int64_t> rows(task.rows, static_cast<std::size_t>(task.count));
  for (const std::int64_t row : rows) {
    if (row >= 0 && row < task.table_rows) continue;
    throw PipelineError("[gather] row numbers lie in [0, " + std::to_string(task.table_rows) +
                        "), got " + std::to_string(row) +
                        "; leave the field of row numbers as the table made it");
  }
  gather_rows(task.table, task.row_bytes, rows, {task.out, task.row_bytes});
  if (task.valid == nullptr) return;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (!task.valid[k]) std::memset(task.out + k * task.row_bytes, 0, task.row_bytes);
}

}  // namespace headrace::inline v1::detail
