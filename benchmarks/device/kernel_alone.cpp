#include <headrace/benchmarks/device/kernel_alone.h>
#include <headrace/loaders/memory/internal/table_gather.h>

#include <memory>
#include <utility>

namespace headrace::inline v1::bench {

std::function<void()> gather_alone(const Side& side, const Tensor& rows, std::int64_t table_rows,
                                   std::size_t row_bytes) {
  const auto memory = std::make_shared<std::pair<Memory, Memory>>(
      side.here(static_cast<std::size_t>(table_rows) * row_bytes),
      side.here(static_cast<std::size_t>(rows.elements()) * row_bytes));
  return [&side, memory, table_rows, row_bytes, rows = rows.data<std::int64_t>(),
          count = rows.elements()] {
    const detail::GatherColumn column{memory->first.data(), row_bytes, memory->second.data()};
    const detail::TableGather task{.columns = &column,
                                   .column_count = 1,
                                   .table_rows = table_rows,
                                   .rows = rows,
                                   .count = count};
    if (side.is_gpu()) {
      detail::launch(detail::gather_kernel, &task, side.device(), side.stream());
    } else {
      detail::gather_on_host(task);
    }
  };
}

}  // namespace headrace::inline v1::bench
