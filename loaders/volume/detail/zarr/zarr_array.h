#pragma once

#include <headrace/loaders/volume/detail/voxel/voxel_type.h>
#include <headrace/loaders/volume/detail/zarr/byte_codecs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace headrace::inline v1::detail {

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
