#pragma once

#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// Checks the chunks that the library reads of a dataset. It takes on trust that what is stored
/// decodes to a whole chunk; where that is less, it delivers the memory behind it as rows. So a
/// chunk's stored size is checked before the library reads it, and then its content, as far as that
/// can be told here (ChunkCodec::check()), out of the bytes that the library is about to get. All
/// on the HDF5 thread.
class ChunkGuard {
 public:
  /// Of a dataset with `guarded` chunks. The file must outlive the guard.
  ChunkGuard(const Hdf5File& file, const Hdf5Dataset& dataset);

  /// Lets the library read those chunks, and no longer those of the last call. Throws DataError
  /// naming the dataset when one of them does not lie in the file or has a size that it cannot
  /// have.
  void expect(const H5::DataSet& data, ChunkGrid::Range chunks);
  /// Throws DataError naming the chunk when one that is stored there does not decode to its size.
  void check(std::uint64_t offset, std::span<const std::byte> stored);

 private:
  struct Expected {
    ChunkPlace place;
    std::size_t chunk;
  };

  void require(std::size_t chunk, const ChunkPlace& place) const;

  const Hdf5File& file_;
  std::string path_;  ///< of the dataset
  std::shared_ptr<const ChunkStore> store_;
  std::vector<Expected> expected_;  ///< by offset; those that are not stored as they are
  std::unique_ptr<CodecScratch> scratch_;
};

}  // namespace headrace::inline v1::detail
