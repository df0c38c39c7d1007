#pragma once

#include <headrace/engine/base/error.h>

#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// Throws DataError when `index` is not in [0, rows).
inline void require_index(std::int64_t index, std::int64_t rows) {
  if (index < 0 || index >= rows) {
    throw DataError("row " + std::to_string(index) + " was asked for, the source has " +
                    std::to_string(rows));
  }
}

/// require_index() for many, without a branch for each.
inline void require_indices(std::span<const std::int64_t> indices, std::int64_t rows) {
  bool inside = true;
  for (std::int64_t index : indices) {
    inside &= static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(rows);
  }
  if (inside) return;
  for (std::int64_t index : indices)
    require_index(index, rows);
}

}  // namespace headrace::inline v1::detail
