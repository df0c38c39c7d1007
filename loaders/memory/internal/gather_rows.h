#pragma once

#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// Copies the rows `indices` of a table of packed rows to `out`, row k of it from row indices[k].
/// The lines of rows ahead are prefetched, because random rows are bound by memory latency.
/// Indices must lie inside the table.
void gather_rows(const std::byte* table, std::size_t row_bytes,
                 std::span<const std::int64_t> indices, Rows::Column out) noexcept;

}  // namespace headrace::inline v1::detail
