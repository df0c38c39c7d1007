#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/loaders/internal/indexed_file.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// Numbers of a chunk store, all little-endian: a header page, the index, then the chunks that take
/// room, in the order of their numbers and without gaps, to the end of the file.
struct ChunkStoreFormat {
  static constexpr std::size_t page = IndexedFile::page;
  static constexpr std::size_t entry_bytes = 32;
  static constexpr std::uint32_t version = 1;
  static constexpr std::array<char, 8> magic{'h', 'r', 'v', 'o', 'l', '1', '\r', '\n'};
};

/// The first page. Bytes: 0 magic, 8 version (u32), 12 dtype, 13 codec, 14 level (u8 each), 16
/// shape, 48 chunk (4 i64 each: channel, z, y, x), 80 scale, 88 offset, 96 spacing (3), 120 affine
/// (12; f64 all), 216 chunks, 224 file bytes, 232 fingerprint (u64 each), 240 checksum of the index
/// (u32), 4092 checksum of the page before it (u32); all else 0. Checksums are CRC-32.
struct ChunkStoreHeader {
  VolumeInfo info{};  ///< a block is a chunk
  ChunkStoreCodec codec = ChunkStoreCodec::raw;
  std::uint8_t level = 0;  ///< of Zstandard
  std::uint64_t chunks = 0;
  std::uint64_t file_bytes = 0;   ///< 0 until the file is whole
  std::uint64_t fingerprint = 0;  ///< of what it is made from and how: an interrupted one goes on
  std::uint32_t index_checksum = 0;

  std::uint64_t data_offset() const noexcept {
    return ChunkStoreFormat::page + chunks * ChunkStoreFormat::entry_bytes;
  }
  std::array<std::byte, ChunkStoreFormat::page> encode() const;
  /// Throws DataError (bare rule) for a page that is no header, is damaged, or has numbers that no
  /// dtype or codec has. What is in `info` is not checked: see check_volume().
  static ChunkStoreHeader decode(std::span<const std::byte> page);
};

enum class ChunkState : std::uint8_t { missing = 0, stored = 1, constant = 2 };

/// An entry of the index. Bytes: 0 offset (u64; of a constant chunk its voxel), 8 stored bytes, 12
/// their checksum (u32 each), 16 state (u8), 28 checksum of the entry before it (u32); all else 0.
/// A chunk stored in as many bytes as it has is stored as it is.
struct ChunkEntry {
  std::uint64_t offset = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t checksum = 0;
  ChunkState state = ChunkState::missing;

  std::array<std::byte, ChunkStoreFormat::entry_bytes> encode() const;
  /// Throws DataError (bare rule) where its own checksum is another or the state is unknown.
  static ChunkEntry decode(const std::byte* from);
  friend bool operator==(const ChunkEntry&, const ChunkEntry&) = default;
};

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
