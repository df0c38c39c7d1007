#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_grid.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index_file.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// A dataset of a file, and the grid of its chunks.
struct ChunkedData {
  const Hdf5File& file;
  const H5::DataSet& data;
  const ChunkGrid& grid;
};

/// Asks the library for the places of those chunks, one look-up each, until `written` have been
/// found. On the HDF5 thread. Throws DataError for a place that cannot be told.
std::vector<ChunkPlace> find_chunks(const ChunkedData& in, ChunkGrid::Range chunks,
                                    std::size_t written = SIZE_MAX);

/// Asks for the place of every chunk. On the HDF5 thread. Throws DataError when the file's own
/// index does not hold together.
std::vector<ChunkPlace> index_chunks(const ChunkedData& in);

/// Throws DataError when a chunk does not lie inside the file, or has a size it cannot have:
/// `exact` bytes (0: any up to `most`).
void require_place(const ChunkPlace& place, std::uint64_t file_bytes, std::size_t exact,
                   std::size_t most);
void require_places(const std::vector<ChunkPlace>& places, std::uint64_t file_bytes,
                    std::size_t exact, std::size_t most);

struct Hdf5Dataset;

/// The chunk indexes of one file while its datasets are described.
class ChunkIndexes {
 public:
  /// `keep`: long indexes are looked for, and kept, beside the file.
  ChunkIndexes(const Hdf5File& file, bool keep) : file_(file), keep_(keep) {}

  /// From the saved index, else from the library. On the HDF5 thread.
  std::vector<ChunkPlace> places(const H5::DataSet& data, const ChunkGrid& grid,
                                 const std::string& key);
  /// Saves what was built. Returns why it could not, empty when there was nothing to tell.
  std::string save() const { return saved_ ? saved_->save() : std::string(); }

  /// Shorter indexes are built anew each time: that takes a millisecond.
  static constexpr std::size_t least_kept = 1024;

 private:
  const Hdf5File& file_;
  bool keep_;
  std::optional<ChunkIndexFile> saved_;
};

/// Everything that is needed to read a dataset's chunks without the library.
struct ChunkStore {
  ChunkGrid grid;
  ChunkCodec codec;
  std::vector<ChunkPlace> places;  ///< by number
  std::vector<std::byte> fill;     ///< one element, in the machine's byte order
  bool raw_edges = false;          ///< chunks that reach over the edge are not filtered

  /// Filters that were not applied to a chunk stored at that place.
  std::uint32_t skipped(std::size_t chunk, const ChunkPlace& place) const noexcept {
    return raw_edges && grid.partial(chunk) ? ~std::uint32_t{0} : place.skipped;
  }
  bool unwritten(std::size_t chunk) const noexcept { return places[chunk].bytes == 0; }
  void fill_chunk(std::span<std::byte> out) const noexcept;
};

/// Reads and decodes a chunk; elements come out as the dtype promises. Any thread, one scratch a
/// thread. Throws DataError naming the chunk.
void read_chunk(const DataFile& file, const Hdf5Dataset& dataset, std::size_t chunk,
                std::span<std::byte> out, CodecScratch& scratch);
/// The same of a chunk that was written, in a grid of whole rows: rows are left as
/// ChunkCodec::decode_apart() leaves units, and their elements as they are stored.
ChunkCodec::Apart read_chunk_apart(const DataFile& file, const Hdf5Dataset& dataset,
                                   std::size_t chunk, CodecScratch& scratch);

/// Throws the error of a chunk, called as ChunkGrid::name() does, with its file and dataset.
[[noreturn]] void fail_chunk(const DataFile& file, const std::string& dataset,
                             const std::string& chunk, const DataError& error);

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
