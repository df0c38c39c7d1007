#pragma once

#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// The filters of a dataset that is written with that codec: shuffle, where elements have more than
/// one byte, then the codec.
std::vector<ChunkFilter> filters_for(Hdf5Codec codec, std::size_t element_bytes);

/// A chunk as it is stored with filters_for(); `level` is Zstandard's. Any thread.
std::vector<std::byte> encode_chunk(std::span<const std::byte> chunk, Hdf5Codec codec,
                                    std::size_t element_bytes, int level = 3);

}  // namespace headrace::inline v1::detail
