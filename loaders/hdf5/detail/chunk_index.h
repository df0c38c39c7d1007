#pragma once

#include <H5Cpp.h>

#include <cstdint>
#include <string>
#include <vector>

#include <headrace/loaders/hdf5/detail/chunk_grid.h>
#include <headrace/loaders/hdf5/detail/chunk_index_file.h>
#include <headrace/loaders/hdf5/detail/hdf5_file.h>

namespace headrace::inline v1::detail {

/// Asks the library for the place of every chunk, one look-up each. On the HDF5 thread. Throws
/// DataError when the file's own index does not hold together.
std::vector<ChunkPlace> index_chunks(const Hdf5File& file, const H5::DataSet& data,
                                     const ChunkGrid& grid);

/// Throws DataError when a chunk does not lie inside the file, or has a size it cannot have:
/// `exact` bytes (0: any up to `most`).
void require_places(const std::vector<ChunkPlace>& places, std::uint64_t file_bytes,
                    std::size_t exact, std::size_t most);

}  // namespace headrace::inline v1::detail
