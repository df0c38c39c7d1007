#pragma once

#include <headrace/loaders/hdf5/detail/chunk/chunk_guard.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// A dataset whose rows the library reads, as stored; chunks are checked as they come, see
/// ChunkGuard. On the HDF5 thread only, its end too. File and dataset must outlive it.
class LibraryRows {
 public:
  /// With a chunk cache of `cache_bytes` (0: the library's default).
  LibraryRows(const Hdf5File& file, const Hdf5Dataset& dataset, std::size_t cache_bytes = 0);
  ~LibraryRows();
  LibraryRows(const LibraryRows&) = delete;
  LibraryRows& operator=(const LibraryRows&) = delete;

  /// Places [first, first + count) of the first axis. Throws DataError.
  void read(std::int64_t first, std::int64_t count, void* to) const;
  /// One row of a dataset with several leading axes.
  void read_row(std::int64_t row, void* to) const;

 private:
  using Extents = std::array<hsize_t, H5S_MAX_RANK>;
  struct Block {
    Extents start{}, extents{};
  };

  /// Chunks are those that the block lies in.
  void read(const Block& block, ChunkGrid::Range chunks, void* to) const;

  const Hdf5File& file_;
  const Hdf5Dataset& dataset_;
  H5::DataSet data_;
  std::shared_ptr<ChunkGuard> guard_;  ///< null where there are no chunks
};

}  // namespace headrace::inline v1::detail
