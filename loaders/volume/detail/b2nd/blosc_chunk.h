#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What the header of a Blosc chunk (version 1 or 2) says, its codec and filters among those that
/// are decoded here.
struct BloscHeader {
  /// The value of all of a chunk of which nothing else is stored.
  enum class Special : std::uint8_t { none = 0, zero = 1, nan = 2, value = 3, undefined = 4 };

  static constexpr std::size_t least_bytes = 16, most_bytes = 32;

  std::size_t bytes = least_bytes;  ///< of the header
  std::size_t decoded = 0;          ///< bytes of the chunk
  std::size_t block = 0;            ///< bytes of a block; the last one may have fewer
  std::size_t stored = 0;           ///< bytes of the stored chunk
  std::size_t type_size = 1;
  bool plain = false;  ///< the bytes follow the header as they are
  Special special = Special::none;

  std::size_t blocks() const noexcept { return (decoded + block - 1) / block; }

  /// Reads a header at the start of those bytes, of a chunk that must decode to `decoded` bytes.
  /// Throws DataError with the rule alone.
  static BloscHeader read(std::span<const std::byte> start, std::size_t decoded);
};

/// Throws DataError, with the rule alone, unless all those numbers of filters are of filters that
/// are undone here.
void require_blosc_filters(std::span<const std::byte> filters);

/// Decodes a whole chunk, header first, that fills `out`. Thread-safe. Throws DataError with the
/// rule alone, and ConfigError where the module that knows the codecs is missing.
void decode_blosc(std::span<const std::byte> chunk, std::span<std::byte> out);

}  // namespace headrace::inline v1::detail
