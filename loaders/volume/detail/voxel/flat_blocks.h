#pragma once

#include <headrace/loaders/volume/volume.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// How voxels that lie in a file as they do in memory, x fastest, channels slowest, are cut into
/// blocks: some whole slices, else some rows, else part of a row, about half a MiB.
VolumeIndex flat_block(const VolumeIndex& shape, std::int64_t voxel_bytes);

/// Voxels of the file, in its order: a block's lie one behind the other, those outside the volume
/// come last.
struct FlatRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Those of the block at a place of the grid; the block must be that of flat_block().
FlatRange flat_range(const VolumeInfo& info, const VolumeIndex& place);

}  // namespace headrace::inline v1::detail
