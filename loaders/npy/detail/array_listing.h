#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>
#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// Arrays in .npy files and what is known of each.
struct ArrayListing {
  FileTable files;
  RecordValues values;
  DType dtype = DType::float32;
  Shape largest;  ///< shape of all, with the longest last axis
  /// Length of each array's last axis; -1 for a file that was broken or empty when it was listed.
  std::vector<std::int64_t> lengths;
  bool ragged = false;       ///< whether the lengths differ
  bool without_one = false;  ///< files have a last axis of 1 more, behind the one that differs

  /// The shape of an array.
  Shape shape(std::size_t record) const;
  /// What it is of a file's; rank 0 where a file lacks the axis that is left out.
  Shape shape_of(const Shape& stored) const;
  std::size_t array_bytes(std::size_t record) const;
  std::size_t memory() const noexcept;
};

/// Reads the headers of all `files`. A file that is broken or
/// without values stays in the listing and is a bad sample
/// when it is read. Arrays [bins, frames, 1] that differ in their frames are [bins, frames]. Throws
/// ConfigError where two sound files differ in dtype, rank, or any other axis but the last;
/// DataError where no file is sound.
ArrayListing list_arrays(FileTable files, RecordValues values);

/// Whether a path ends in ".npy", in any case; hidden names and bare extensions do not.
bool has_npy_extension(std::string_view path);

}  // namespace headrace::inline v1::detail
