#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

// Each undoes one filter: reads `from`, writes into `to`, never past its end, and returns how many
// bytes that gave. Throws DataError. `from` and `to` do not overlap.

/// A zlib stream (RFC 1950), its checksum verified.
std::size_t undo_deflate(const ChunkFilter& filter, std::span<const std::byte> from,
                         std::span<std::byte> to, CodecScratch& scratch);
/// The bytes of elements apart, byte 0 of all first; the element size is the first setting.
std::size_t undo_shuffle(const ChunkFilter& filter, std::span<const std::byte> from,
                         std::span<std::byte> to, CodecScratch& scratch);
/// One LibLZF block.
std::size_t undo_lzf(const ChunkFilter& filter, std::span<const std::byte> from,
                     std::span<std::byte> to, CodecScratch& scratch);
/// Size of all (8 bytes), of a block (4), then blocks with their stored size (4), big-endian.
std::size_t undo_lz4(const ChunkFilter& filter, std::span<const std::byte> from,
                     std::span<std::byte> to, CodecScratch& scratch);
/// Zstandard frames (RFC 8878).
std::size_t undo_zstd(const ChunkFilter& filter, std::span<const std::byte> from,
                      std::span<std::byte> to, CodecScratch& scratch);
/// The bits of elements apart, in blocks; plain, or each block LZ4 or Zstd.
std::size_t undo_bitshuffle(const ChunkFilter& filter, std::span<const std::byte> from,
                            std::span<std::byte> to, CodecScratch& scratch);

/// The bytes without the checksum at their end, which was right.
std::span<const std::byte> checked_fletcher32(std::span<const std::byte> from);
/// The library's Fletcher-32: words of 16 bits, the first byte the high one.
std::uint32_t fletcher32(std::span<const std::byte> bytes) noexcept;

/// Throws DataError when a filter's settings are not what its writers give.
void require_settings(const ChunkFilter& filter);

}  // namespace headrace::inline v1::detail
