#include <headrace/loaders/hdf5/internal/chunk_encoder.h>
#include <headrace/loaders/volume/detail/store/store_chunk.h>

#include <cstring>

namespace headrace::inline v1::detail {
namespace {

Hdf5Codec filter_of(ChunkStoreCodec codec) {
  switch (codec) {
    case ChunkStoreCodec::raw:
      return Hdf5Codec::none;
    case ChunkStoreCodec::lz4:
      return Hdf5Codec::lz4;
    case ChunkStoreCodec::zstd:
      return Hdf5Codec::zstd;
  }
  return Hdf5Codec::none;
}

}  // namespace

StoredChunk pack_chunk(std::span<const std::byte> chunk, const ChunkStoreHeader& header) {
  const std::size_t voxel = size_of(header.info.dtype);
  StoredChunk stored;
  if (std::memcmp(chunk.data(), chunk.data() + voxel, chunk.size() - voxel) == 0) {
    stored.entry.state = ChunkState::constant;
    std::memcpy(&stored.entry.offset, chunk.data(), voxel);
    return stored;
  }
  stored.bytes = encode_chunk(chunk, filter_of(header.codec), voxel, header.level);
  if (stored.bytes.size() >= chunk.size()) stored.bytes.assign(chunk.begin(), chunk.end());
  stored.entry.state = ChunkState::stored;
  stored.entry.stored_bytes = static_cast<std::uint32_t>(stored.bytes.size());
  stored.entry.checksum = store_checksum(stored.bytes);
  return stored;
}

ChunkCodec codec_of(const ChunkStoreHeader& header) {
  return {filters_for(filter_of(header.codec), size_of(header.info.dtype)),
          header.info.block_bytes()};
}

}  // namespace headrace::inline v1::detail
