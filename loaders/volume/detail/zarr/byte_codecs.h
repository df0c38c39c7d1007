#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// What Zarr's codecs make of bytes.
enum class ByteCodec : std::uint8_t { gzip, zlib, zstd, lz4, blosc, crc32c };

/// Undoes the codecs of a chunk. Every size in the stored bytes is checked, and nothing is written
/// beyond the size of a decoded chunk.
class ByteCodecs {
 public:
  /// In the order of writing.
  explicit ByteCodecs(std::vector<ByteCodec> codecs = {}) : codecs_(std::move(codecs)) {}

  /// Decodes to all of `out`, which is none of the scratch's. Thread-safe, one scratch a thread.
  /// Throws DataError with the rule alone.
  void decode(std::span<const std::byte> stored, std::span<std::byte> out,
              CodecScratch& scratch) const;

  /// More bytes than the codecs make of so many.
  std::uint64_t most_stored(std::size_t bytes) const noexcept;
  /// Whether chunks are stored as they are.
  bool none() const noexcept { return codecs_.empty(); }

 private:
  std::vector<ByteCodec> codecs_;
};

}  // namespace headrace::inline v1::detail
