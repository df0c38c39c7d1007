#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct libdeflate_decompressor;
struct ZSTD_DCtx_s;

namespace headrace::inline v1::detail {

/// Numbers of the HDF5 Group's filter registry.
enum class FilterId : int {
  deflate = 1,
  shuffle = 2,
  fletcher32 = 3,
  lzf = 32000,
  lz4 = 32004,
  bitshuffle = 32008,
  zstd = 32015,
};

/// A step of a dataset's filter pipeline, in the order of writing.
struct ChunkFilter {
  int id = 0;
  std::vector<std::uint32_t> values{};  ///< its settings, as stored
};

/// Memory that grows and is never cleared.
class ScratchBytes {
 public:
  /// At least that many bytes; what was there is lost when it grows.
  std::span<std::byte> take(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

/// What one thread needs to decode chunks: decompressors and two buffers.
class CodecScratch {
 public:
  CodecScratch();
  ~CodecScratch();
  CodecScratch(const CodecScratch&) = delete;
  CodecScratch& operator=(const CodecScratch&) = delete;

  ScratchBytes stored;  ///< for the caller: bytes as read
  ScratchBytes one, other;
  libdeflate_decompressor* deflate;
  ZSTD_DCtx_s* zstd;
};

/// Decodes a chunk of zlib or of Zstd; gives its bytes. Throws DataError.
std::size_t decode_zlib(std::span<const std::byte> from, std::span<std::byte> to,
                        CodecScratch& scratch);
std::size_t decode_zstd(std::span<const std::byte> from, std::span<std::byte> to,
                        CodecScratch& scratch);

/// Undoes a filter pipeline. Every size and offset of the stored bytes is checked; nothing beyond
/// the chunk's size (and, between two filters, twice that) is ever written.
class ChunkCodec {
 public:
  /// `chunk_bytes` is the size of a decoded chunk. Throws DataError for settings that no writer
  /// gives.
  ChunkCodec(std::vector<ChunkFilter> filters, std::size_t chunk_bytes);

  /// Whether a filter can be undone here: deflate, shuffle, Fletcher-32, LZF, LZ4, bitshuffle,
  /// Zstd.
  static bool knows(int filter) noexcept;

  /// Bit i of `skipped` says that filter i was not applied to this chunk. `out` has the size of a
  /// chunk. Thread-safe, one scratch a thread. Throws DataError saying which filter found what.
  void decode(std::span<const std::byte> stored, std::uint32_t skipped, std::span<std::byte> out,
              CodecScratch& scratch) const;

  /// A decoded chunk whose elements' bytes may still lie apart, as unshuffle() takes them.
  struct Apart {
    std::span<const std::byte> bytes;
    std::size_t element;  ///< 1: they are as they should be
  };
  /// decode() but for a shuffle that was the first filter, where `unit` bytes of the chunk, which
  /// divide it, are whole elements: who takes units out joins them on the way. The bytes are in the
  /// scratch, or `stored` itself.
  Apart decode_apart(std::span<const std::byte> stored, std::uint32_t skipped, std::size_t unit,
                     CodecScratch& scratch) const;

  /// Throws DataError unless a chunk decodes to its size, as far as that can be told here: where a
  /// filter is one that only the library undoes, by the settings and sizes of that.
  void check(std::span<const std::byte> stored, std::uint32_t skipped, CodecScratch& scratch) const;

  bool filtered() const noexcept { return !filters_.empty(); }
  /// Whether a chunk that skipped those filters is stored as it is.
  bool is_plain(std::uint32_t skipped) const noexcept { return applied(skipped) == 0; }
  /// More bytes than any writer's filters make of a chunk.
  std::size_t most_stored() const noexcept;
  const std::vector<ChunkFilter>& filters() const noexcept { return filters_; }

 private:
  std::size_t bytes_before(std::size_t filter, std::uint32_t filters) const noexcept;
  std::uint32_t applied(std::uint32_t skipped) const noexcept;
  std::span<const std::byte> undo(std::uint32_t filters, std::span<const std::byte> stored,
                                  std::span<std::byte> out, CodecScratch& scratch) const;
  void require_whole(std::span<const std::byte> chunk) const;

  std::vector<ChunkFilter> filters_;
  std::size_t chunk_bytes_;
  std::uint32_t working_ = 0;  // bit i: filter i changes a chunk
};

}  // namespace headrace::inline v1::detail
