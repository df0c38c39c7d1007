#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/internal/chunk_encoder.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>

#include <cstring>
#include <string>

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
  stored.entry.checksum = checksum_of(stored.bytes);
  return stored;
}

ChunkCodec codec_of(const ChunkStoreHeader& header) {
  return {filters_for(filter_of(header.codec), size_of(header.info.dtype)),
          header.info.block_bytes()};
}

namespace {

constexpr std::size_t checksum_at = ChunkStoreFormat::page - 4;
constexpr std::size_t header_end = 244;
constexpr std::size_t entry_checksum_at = ChunkStoreFormat::entry_bytes - 4;

bool all_zero(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    if (byte != std::byte{0}) return false;
  return true;
}

}  // namespace

std::array<std::byte, ChunkStoreFormat::page> ChunkStoreHeader::encode() const {
  std::array<std::byte, ChunkStoreFormat::page> page{};
  put(page.data(), 0, ChunkStoreFormat::magic);
  put(page.data(), 8, ChunkStoreFormat::version);
  put(page.data(), 12, info.dtype);
  put(page.data(), 13, codec);
  put(page.data(), 14, level);
  put(page.data(), 16, info.shape);
  put(page.data(), 48, info.block);
  put(page.data(), 80, info.scale);
  put(page.data(), 88, info.offset);
  put(page.data(), 96, info.spacing);
  put(page.data(), 120, info.affine);
  put(page.data(), 216, chunks);
  put(page.data(), 224, file_bytes);
  put(page.data(), 232, fingerprint);
  put(page.data(), 240, index_checksum);
  put(page.data(), checksum_at, checksum_of(std::span(page).first(checksum_at)));
  return page;
}

ChunkStoreHeader ChunkStoreHeader::decode(std::span<const std::byte> page) {
  if (page.size() < ChunkStoreFormat::page || !ChunkStoreVolume::recognises(page))
    throw DataError("file must begin as a chunk store, got something else");
  const std::byte* from = page.data();
  if (const auto version = get<std::uint32_t>(from, 8); version != ChunkStoreFormat::version) {
    throw DataError("chunk store must be of version 1, got " + std::to_string(version) +
                    "; read it with the headrace that wrote it, or pack again");
  }
  if (get<std::uint32_t>(from, checksum_at) != checksum_of(page.first(checksum_at)))
    throw DataError("header's checksum is another: the file is damaged");
  const auto dtype = get<std::uint8_t>(from, 12);
  const auto codec = get<std::uint8_t>(from, 13);
  if (dtype > static_cast<std::uint8_t>(DType::boolean))
    throw DataError("dtype must be a known one, got number " + std::to_string(dtype));
  if (codec > static_cast<std::uint8_t>(ChunkStoreCodec::zstd))
    throw DataError("codec must be raw, lz4 or zstd, got number " + std::to_string(codec));
  if (from[15] != std::byte{0} || !all_zero(page.subspan(header_end, checksum_at - header_end)))
    throw DataError("bytes of the header that have no meaning must be 0; pack again");
  ChunkStoreHeader header;
  header.info = {.shape = get<VolumeIndex>(from, 16),
                 .block = get<VolumeIndex>(from, 48),
                 .dtype = static_cast<DType>(dtype),
                 .scale = get<double>(from, 80),
                 .offset = get<double>(from, 88),
                 .spacing = get<std::array<double, 3>>(from, 96),
                 .affine = get<std::array<double, 12>>(from, 120)};
  header.codec = static_cast<ChunkStoreCodec>(codec);
  header.level = get<std::uint8_t>(from, 14);
  header.chunks = get<std::uint64_t>(from, 216);
  header.file_bytes = get<std::uint64_t>(from, 224);
  header.fingerprint = get<std::uint64_t>(from, 232);
  header.index_checksum = get<std::uint32_t>(from, 240);
  return header;
}

std::array<std::byte, ChunkStoreFormat::entry_bytes> ChunkEntry::encode() const {
  std::array<std::byte, ChunkStoreFormat::entry_bytes> bytes{};
  put(bytes.data(), 0, offset);
  put(bytes.data(), 8, stored_bytes);
  put(bytes.data(), 12, checksum);
  put(bytes.data(), 16, state);
  put(bytes.data(), entry_checksum_at, checksum_of(std::span(bytes).first(entry_checksum_at)));
  return bytes;
}

ChunkEntry ChunkEntry::decode(const std::byte* from) {
  const std::span bytes(from, entry_checksum_at);
  if (get<std::uint32_t>(from, entry_checksum_at) != checksum_of(bytes))
    throw DataError("its checksum is another: the file is damaged");
  const auto state = get<std::uint8_t>(from, 16);
  if (state > static_cast<std::uint8_t>(ChunkState::constant) || !all_zero(bytes.subspan(17)))
    throw DataError("its state must be a known one, got number " + std::to_string(state));
  return {.offset = get<std::uint64_t>(from, 0),
          .stored_bytes = get<std::uint32_t>(from, 8),
          .checksum = get<std::uint32_t>(from, 12),
          .state = static_cast<ChunkState>(state)};
}

}  // namespace headrace::inline v1::detail
