#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/crc32c.h>
#include <headrace/loaders/volume/detail/b2nd/blosc_chunk.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>

#include <cstring>
#include <limits>
#include <string>

#include <libdeflate.h>
#include <lz4.h>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void damaged_chunk(const std::string& what) {
  throw DataError("a chunk " + what + "; the file is damaged");
}

/// Bytes between two codecs: what a codec makes of a chunk is hardly larger.
std::size_t most_between(std::size_t bytes) {
  return bytes + bytes / 8 + (std::size_t{64} << 10);
}

std::uint32_t number_at(const std::byte* from) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// One member after the other.
std::size_t undo_gzip(std::span<const std::byte> from, std::span<std::byte> to,
                      CodecScratch& scratch) {
  std::size_t made = 0;
  do {
    std::size_t used = 0, got = 0;
    const auto result = libdeflate_gzip_decompress_ex(
        scratch.deflate, from.data(), from.size(), to.data() + made, to.size() - made, &used, &got);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
      damaged_chunk("of deflate unpacks to more than its " + std::to_string(to.size()) + " bytes");
    if (result != LIBDEFLATE_SUCCESS) damaged_chunk("of deflate cannot be unpacked");
    from = from.subspan(used);
    made += got;
  } while (!from.empty());
  return made;
}

/// What it decodes to (4 bytes), then a block.
std::size_t undo_lz4(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (from.size() < 4) damaged_chunk("of LZ4 ends inside its size");
  if (from.size() > most || to.size() > most) damaged_chunk("of LZ4 has over 2 GiB");
  const std::uint32_t all = number_at(from.data());
  if (all > to.size()) {
    damaged_chunk("of LZ4 announces " + std::to_string(all) + " bytes where at most " +
                  std::to_string(to.size()) + " belong");
  }
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(from.data() + 4),
                                      reinterpret_cast<char*>(to.data()),
                                      static_cast<int>(from.size() - 4), static_cast<int>(all));
  if (got < 0 || static_cast<std::uint32_t>(got) != all) damaged_chunk("of LZ4 cannot be decoded");
  return all;
}

/// What a Blosc chunk says that it decodes to.
std::size_t undo_blosc(std::span<const std::byte> from, std::span<std::byte> to) {
  if (from.size() < BloscHeader::least_bytes) damaged_chunk("of Blosc ends inside its header");
  const std::uint32_t all = number_at(from.data() + 4);
  if (all > to.size()) {
    damaged_chunk("of Blosc announces " + std::to_string(all) + " bytes where at most " +
                  std::to_string(to.size()) + " belong");
  }
  decode_blosc(from, to.first(all));
  return all;
}

std::span<const std::byte> checked(std::span<const std::byte> from) {
  if (from.size() < 4) damaged_chunk("ends inside its checksum");
  const auto rest = from.first(from.size() - 4);
  if (crc32c(rest) != number_at(from.data() + rest.size()))
    damaged_chunk("has another checksum (crc32c) than is stored with it");
  return rest;
}

std::size_t undo(ByteCodec codec, std::span<const std::byte> from, std::span<std::byte> to,
                 CodecScratch& scratch) {
  switch (codec) {
    case ByteCodec::gzip:
      return undo_gzip(from, to, scratch);
    case ByteCodec::zlib:
      return decode_zlib(from, to, scratch);
    case ByteCodec::zstd:
      return decode_zstd(from, to, scratch);
    case ByteCodec::lz4:
      return undo_lz4(from, to);
    case ByteCodec::blosc:
      return undo_blosc(from, to);
    case ByteCodec::crc32c:
      break;
  }
  return 0;
}

}  // namespace

void ByteCodecs::decode(std::span<const std::byte> stored, std::span<std::byte> out,
                        CodecScratch& scratch) const {
  std::span<const std::byte> now = stored;
  ScratchBytes* next = &scratch.one;
  for (std::size_t i = codecs_.size(); i-- > 0;) {
    if (codecs_[i] == ByteCodec::crc32c) {
      now = checked(now);
      continue;
    }
    const std::span<std::byte> to = i == 0 ? out : next->take(most_between(out.size()));
    now = to.first(undo(codecs_[i], now, to, scratch));
    next = next == &scratch.one ? &scratch.other : &scratch.one;
  }
  if (now.size() != out.size()) {
    damaged_chunk("decodes to " + std::to_string(now.size()) + " bytes, it has " +
                  std::to_string(out.size()));
  }
  if (now.data() != out.data() && !out.empty()) std::memcpy(out.data(), now.data(), out.size());
}

std::uint64_t ByteCodecs::most_stored(std::size_t bytes) const noexcept {
  return most_between(bytes);
}

}  // namespace headrace::inline v1::detail
