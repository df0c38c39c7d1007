#pragma once

#include <headrace/engine/sample/source.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// Where the rows of a gather go: row k to place k of a column, or to place places[k].
struct RowTargets {
  Rows::Column column;
  const std::uint32_t* places = nullptr;

  std::byte* row(std::size_t k) const noexcept {
    return column.first + (places != nullptr ? places[k] : k) * column.stride;
  }
};

/// A row that is wanted, and where it goes.
struct SortedRow {
  std::int64_t index;
  std::byte* to;
};

/// The rows of a gather in the order of the file.
inline std::vector<SortedRow> sorted_rows(std::span<const std::int64_t> indices,
                                          const RowTargets& out) {
  std::vector<SortedRow> rows;
  rows.reserve(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    rows.push_back({indices[k], out.row(k)});
  }
  std::sort(rows.begin(), rows.end(),
            [](const SortedRow& a, const SortedRow& b) { return a.index < b.index; });
  return rows;
}

/// Whether row k is the same record as the one before it.
inline bool repeats(const std::vector<SortedRow>& rows, std::size_t k) noexcept {
  return k > 0 && rows[k].index == rows[k - 1].index;
}

}  // namespace headrace::inline v1::detail
