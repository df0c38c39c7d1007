#pragma once

#include <headrace/engine/batch/batch.h>

#include <algorithm>
#include <cstdint>

namespace headrace::inline v1::training::detail {

// Rows [first, last) of a batch that is worked on in pieces.
struct BatchRows {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

inline Batch rows_of(const Batch& batch, BatchRows rows) {
  const bool all = rows.first == 0 && rows.last == batch.size();
  return all ? batch : batch.rows(rows.first, rows.last);
}

// Where the order would go on if the batch ended behind these rows: a piece draws what a batch of
// its own would draw.
inline std::int64_t position_behind(const Batch& batch, BatchRows rows) {
  const std::int64_t present = batch.valid_rows().value_or(batch.size());
  return batch.position_after().position - std::max<std::int64_t>(present - rows.last, 0);
}

}  // namespace headrace::inline v1::training::detail
