#include <headrace/benchmarks/device/kernel_alone.h>

#include <memory>
#include <utility>

#include <headrace/loaders/memory/detail/table_gather.h>

namespace headrace::inline v1::bench {

std::function<void()> gather_alone(const Side& side, const Tensor& rows, std::int64_t table_rows,
                                   std::size_t row_bytes) {
  struct Columns {
    Memory table;
    Memory out;
    detail::GatherColumn column{};
  };
  const auto all = std::make_shared<Columns>(
      Columns{.table = side.here(static_cast<std::size_t>(table_rows) * row_bytes),
              .out = side.here(static_cast<std::size_t>(rows.elements()) * row_bytes)});
  all->column = {.table = all->table.data(), .row_bytes = row_bytes, .out = all->out.data()};
  return [&side, all,
          task = detail::TableGather{.columns = &all->column,
                                     .column_count = 1,
                                     .table_rows = table_rows,
                                     .rows = rows.data<std::int64_t>(),
                                     .count = rows.elements()}] {
    if (side.is_gpu()) {
      detail::launch(detail::gather_kernel, &task, side.device(), side.stream());
    } else {
      detail::gather_on_host(task);
    }
  };
}

}  // namespace headrace::inline v1::bench
