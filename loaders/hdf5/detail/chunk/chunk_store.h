#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_grid.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

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

}  // namespace headrace::inline v1::detail
