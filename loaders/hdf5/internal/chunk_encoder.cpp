#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/internal/chunk_encoder.h>

#include <algorithm>
#include <cstdint>

#include <lz4.h>
#include <zstd.h>

namespace headrace::inline v1::detail {
namespace {

constexpr int zstd_level = 3;
constexpr std::size_t lz4_block_bytes = std::size_t{1} << 20;

std::vector<std::byte> shuffled(std::span<const std::byte> from, std::size_t element) {
  std::vector<std::byte> to(from.begin(), from.end());
  const std::size_t count = from.size() / element;
  for (std::size_t j = 0; j < element && element > 1; ++j)
    for (std::size_t i = 0; i < count; ++i)
      to[j * count + i] = from[i * element + j];
  return to;
}

std::vector<std::byte> zstd(std::span<const std::byte> from, int level) {
  std::vector<std::byte> to(ZSTD_compressBound(from.size()));
  const std::size_t bytes = ZSTD_compress(to.data(), to.size(), from.data(), from.size(), level);
  if (ZSTD_isError(bytes) != 0) throw ResourceError("[hdf5] a chunk could not be packed by Zstd");
  to.resize(bytes);
  return to;
}

void put_big_endian(std::vector<std::byte>& to, std::uint64_t value, int bytes) {
  for (int i = bytes; i-- > 0;)
    to.push_back(static_cast<std::byte>(value >> 8 * i));
}

/// The layout of filter 32004: see undo_lz4().
std::vector<std::byte> lz4(std::span<const std::byte> from) {
  std::vector<std::byte> to;
  put_big_endian(to, from.size(), 8);
  put_big_endian(to, std::min(lz4_block_bytes, from.size()), 4);
  std::vector<char> packed(static_cast<std::size_t>(LZ4_compressBound(lz4_block_bytes)));
  while (!from.empty()) {
    const auto block = from.first(std::min(lz4_block_bytes, from.size()));
    from = from.subspan(block.size());
    const int got =
        LZ4_compress_default(reinterpret_cast<const char*>(block.data()), packed.data(),
                             static_cast<int>(block.size()), static_cast<int>(packed.size()));
    const bool smaller = got > 0 && static_cast<std::size_t>(got) < block.size();
    const auto stored =
        smaller ? std::as_bytes(std::span(packed.data(), static_cast<std::size_t>(got))) : block;
    put_big_endian(to, stored.size(), 4);
    to.insert(to.end(), stored.begin(), stored.end());
  }
  return to;
}

}  // namespace

std::vector<ChunkFilter> filters_for(Hdf5Codec codec, std::size_t element_bytes) {
  if (codec == Hdf5Codec::none) return {};
  std::vector<ChunkFilter> filters;
  if (element_bytes > 1) {
    filters.push_back(
        {static_cast<int>(FilterId::shuffle), {static_cast<std::uint32_t>(element_bytes)}});
  }
  if (codec == Hdf5Codec::zstd) filters.push_back({static_cast<int>(FilterId::zstd), {zstd_level}});
  if (codec == Hdf5Codec::lz4)
    filters.push_back(
        {static_cast<int>(FilterId::lz4), {static_cast<std::uint32_t>(lz4_block_bytes)}});
  return filters;
}

std::vector<std::byte> encode_chunk(std::span<const std::byte> chunk, Hdf5Codec codec,
                                    std::size_t element_bytes, int level) {
  if (codec == Hdf5Codec::none) return {chunk.begin(), chunk.end()};
  const std::vector<std::byte> apart = shuffled(chunk, element_bytes);
  return codec == Hdf5Codec::zstd ? zstd(apart, level) : lz4(apart);
}

}  // namespace headrace::inline v1::detail
