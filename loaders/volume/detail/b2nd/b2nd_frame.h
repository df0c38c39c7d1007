#pragma once

#include <headrace/loaders/volume/detail/array/store_folder.h>
#include <headrace/loaders/volume/detail/voxel/voxel_type.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// What the header and the index of a Blosc2 NDim file (a contiguous frame) say, checked against
/// each other and the file.
struct B2ndFrame {
  VoxelType type{};
  std::vector<std::int64_t> shape{}, chunk{}, block{};  ///< extents
  std::uint64_t chunks_begin = 0, chunks_end = 0;       ///< where chunks lie in the file
  std::size_t block_bytes = 0;                          ///< of a decoded block
  std::size_t blocks = 0;               ///< of a chunk; those on its far edges are whole, too
  std::vector<std::int64_t> offsets{};  ///< of chunks from chunks_begin on; below 0: see special()

  std::size_t chunk_bytes() const noexcept { return blocks * block_bytes; }

  /// Chunks, or blocks in a chunk, along an axis.
  std::int64_t chunks_along(std::size_t axis) const noexcept {
    return (shape[axis] - 1) / chunk[axis] + 1;
  }
  std::int64_t blocks_along(std::size_t axis) const noexcept {
    return (chunk[axis] - 1) / block[axis] + 1;
  }
};

/// Throws DataError with the rule alone.
B2ndFrame read_b2nd_frame(const StoreFile& file, const VolumeLimits& limits);

}  // namespace headrace::inline v1::detail
