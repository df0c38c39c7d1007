#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <span>

namespace headrace::inline v1::detail {

/// Filters that only the library undoes: n-bit (5), scale-offset (6), szip (4). It takes their
/// settings and the sizes in a chunk on trust, and reads and delivers memory that is not the
/// chunk's where they lie.

/// Whether a filter with those settings leaves chunks as they are: where the bits of an element are
/// all kept, or for a type that n-bit does not pack.
bool does_nothing(const ChunkFilter& filter) noexcept;

/// Throws DataError unless the settings are those of chunks of that size.
void require_rare_settings(const ChunkFilter& filter, std::size_t chunk_bytes);

/// Throws DataError unless what such a filter made can be undone to `bytes` bytes, which 0 stands
/// for where they cannot be told.
void require_rare_chunk(const ChunkFilter& filter, std::span<const std::byte> stored,
                        std::size_t bytes);

}  // namespace headrace::inline v1::detail
