#pragma once

#include <headrace/engine/device/internal/kernel.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// A column of a packed table and the field of a batch that it becomes. Both begin at multiples of
/// 16 bytes.
struct GatherColumn {
  const std::byte* table = nullptr;
  std::size_t row_bytes = 0;
  std::byte* out = nullptr;
};

/// Rows of a packed table that become the fields of a batch.
struct TableGather {
  const GatherColumn* columns = nullptr;  ///< in host memory
  int column_count = 0;
  std::int64_t table_rows = 0;
  const std::int64_t* rows = nullptr;  ///< row numbers, `count` of them
  const bool* valid = nullptr;         ///< rows that are none become zero; null: all are
  std::int64_t count = 0;
};

/// All pointers are the host's. Throws PipelineError for a row number outside the table.
void gather_on_host(const TableGather& task);
/// Takes a TableGather whose pointers are the device's, but for the array of columns; a row number
/// outside the table gives zeros. One launch for all columns.
inline constexpr Kernel gather_kernel{.who = "gather", .function = "headrace_gather"};

}  // namespace headrace::inline v1::detail
