#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/loaders/volume/detail/voxel/voxel_type.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

/// Where a shard keeps the places of its chunks.
struct ZarrShardIndex {
  bool at_start = false;
  bool checksum = false;  ///< crc32c behind it
  bool swap = false;      ///< in the other byte order than the machine's
};

/// What the metadata of a Zarr array, of either version, says.
struct ZarrArray {
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> file{};   ///< extents of what a file holds: a chunk, or a shard
  std::vector<std::int64_t> chunk{};  ///< extents of what is decoded at once; divide those
  bool sharded = false;
  ZarrShardIndex index{};
  VoxelType type{};
  VoxelBytes fill{};
  std::vector<std::size_t> order{};  ///< axes of a stored chunk, the slowest first
  ByteCodecs codecs{};
  std::string prefix{};  ///< of the files' names
  char separator = '.';  ///< between the numbers in them

  /// The name of the file at a place of their grid.
  std::string key(const std::vector<std::int64_t>& place) const;
};

/// Reads .zarray of version 2. Throws DataError with the rule alone, as the next.
ZarrArray read_zarr_v2(const nlohmann::json& json);

/// Reads zarr.json of an array of version 3.
ZarrArray read_zarr_v3(const nlohmann::json& json);

}  // namespace headrace::inline v1::detail
