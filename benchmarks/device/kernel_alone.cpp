#include <headrace/benchmarks/device/kernel_alone.h>

#include <memory>
#include <utility>

#include <headrace/loaders/memory/detail/table_gather.h>

namespace headrace::inline v1::bench {

std::function<void()> gather_alone(const Side& side, const Tensor& rows, std::int64_t table_rows,
                                   std::size_t row_bytes) {
  const auto memory = std::make_shared<std::pair<Memory, Memory>>(
      side.here(static_cast<std::size_t>(table_rows) * row_bytes),
      side.here(static_cast<std::size_t>(rows.elements()) * row_bytes));
  return [&side, memory,
          task = detail::TableGather{.table = memory->first.data(),
                                     .table_rows = table_rows,
                                     .row_bytes = row_bytes,
                                     .rows = rows.data<std::int64_t>(),
                                     .count = rows.elements(),
                                     .out = memory->second.data()}] {
    if (side.is_gpu()) {
      detail::launch(detail::gather_kernel, &task, side.device(), side.stream());
    } else {
      detail::gather_on_host(task);
    }
  };
}

}  // namespace headrace::inline v1::bench
