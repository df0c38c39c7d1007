#pragma once

#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// Reads runs of a source's records into memory, by several threads of its own. For loading before
/// a loader runs; all fields are fixed.
class RecordReader {
 public:
  /// The source outlives the reader.
  explicit RecordReader(const Source& source);

  /// Records that take at most so many bytes, but one at least.
  std::int64_t records_in(std::size_t bytes) const noexcept;
  /// Records [first, first + count), to row 0 and on of the columns, one for each field. Throws
  /// DataError with the record's origin (of the first one where they are gathered).
  void read(std::int64_t first, std::int64_t count, std::span<const Rows::Column> columns) const;

 private:
  void read_piece(std::int64_t first, const Rows& rows) const;
  void copy_record(std::int64_t index, const Rows& rows, std::int64_t k) const;

  const Source& source_;
  Schema fields_;
  std::size_t record_bytes_ = 0;
};

}  // namespace headrace::inline v1::detail
