#pragma once

#include <headrace/engine/batch/batch.h>

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
  return rows_of(batch, rows).position_after().position;
}

// Whether all rows from there on fill up the epoch's last batch: smaller batches would end before.
// Rows that a rule for bad samples has left out are none of these.
inline bool is_padding_from(const Batch& batch, std::int64_t row) {
  return row < batch.size() && batch.rows(row, row + 1).origins().front().position < 0;
}

}  // namespace headrace::inline v1::training::detail
