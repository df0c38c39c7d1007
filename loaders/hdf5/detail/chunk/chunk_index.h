#pragma once

#include <headrace/loaders/hdf5/detail/chunk/chunk_grid.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index_file.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>

#include <cstdint>
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

}  // namespace headrace::inline v1::detail
