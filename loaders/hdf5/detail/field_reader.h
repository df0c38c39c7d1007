#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <headrace/engine/source.h>
#include <headrace/engine/tensor.h>
#include <headrace/loaders/hdf5/detail/hdf5_dataset.h>

namespace headrace::inline v1::detail {

/// How the rows of one dataset come into memory. Const and thread-safe.
class FieldReader {
 public:
  virtual ~FieldReader() = default;

  /// Copies the rows `indices`, which lie inside the dataset. Throws DataError.
  virtual void gather(std::span<const std::int64_t> indices, Rows::Column out) const = 0;
  /// All rows, where they are resident; else null.
  virtual const Tensor* resident() const { return nullptr; }
};

/// Copies the dataset into huge-page memory: with large reads by several threads where it lies in
/// one piece, through the library else. Throws ResourceError or DataError.
std::unique_ptr<FieldReader> make_resident_field(const Hdf5File& file, const Hdf5Dataset& dataset);

/// Rows by `pread` at their places in the file, sorted and joined. For datasets in one piece.
std::unique_ptr<FieldReader> make_pread_field(std::shared_ptr<const Hdf5File> file,
                                              const Hdf5Dataset& dataset);

/// Rows through the library, on its thread, sorted so that a chunk is decoded once a call.
std::unique_ptr<FieldReader> make_library_field(std::shared_ptr<const Hdf5File> file,
                                                const Hdf5Dataset& dataset, std::size_t memory);

/// Rows [first, first + count) through the library, as stored. On the HDF5 thread only.
void read_rows(const H5::DataSet& data, std::int64_t first, std::int64_t count, void* to);

}  // namespace headrace::inline v1::detail
