#pragma once

#include <cstddef>
#include <cstdint>

#include <headrace/engine/device/internal/kernel.h>

namespace headrace::inline v1::detail {

/// Rows of a packed table that become a field of a batch. Tables and fields begin at multiples of
/// 16 bytes.
struct TableGather {
  const std::byte* table = nullptr;
  std::int64_t table_rows = 0;
  std::size_t row_bytes = 0;
  const std::int64_t* rows = nullptr;  ///< row numbers, `count` of them
  const bool* valid = nullptr;         ///< rows that are none become zero; null: all are
  std::int64_t count = 0;
  std::byte* out = nullptr;
};

/// All pointers are the host's. Throws PipelineError for a row number outside the table.
void gather_on_host(const TableGather& task);
/// Takes a TableGather whose pointers are all the device's; a row number outside the table gives
/// zeros.
inline constexpr Kernel gather_kernel{.who = "gather", .function = "headrace_gather"};

}  // namespace headrace::inline v1::detail
