#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>

#include <cstddef>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// A chunk as it goes into the file. The entry's offset is open, but for a constant chunk.
struct StoredChunk {
  ChunkEntry entry;
  std::vector<std::byte> bytes;
};

/// Packs a chunk as a store's header says; one value takes no bytes, and what packing does not make
/// smaller stays as it is. Thread-safe.
StoredChunk pack_chunk(std::span<const std::byte> chunk, const ChunkStoreHeader& header);

/// What undoes the packing of a store's chunks: the filters are those of HDF5.
ChunkCodec codec_of(const ChunkStoreHeader& header);

}  // namespace headrace::inline v1::detail
