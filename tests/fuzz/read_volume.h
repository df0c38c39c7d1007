#pragma once

#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>
#include <headrace/tests/fuzz/finding.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::test {

/// What a hostile file may claim here.
inline constexpr VolumeLimits small_limits{
    .voxels = 1 << 20, .block_bytes = 1 << 16, .blocks = 1 << 12, .metadata_bytes = 1 << 16};

/// Reads the first blocks and the last one, twice each; throws DataError as they do. All of a block
/// is written, whatever was in its memory.
inline void read_volume(const Volume& volume) {
  const VolumeIndex grid = volume.info().grid();
  const std::int64_t count = voxels_of(grid), most = std::min<std::int64_t>(count, 8);
  std::vector<std::byte> block(volume.info().block_bytes(), std::byte{0xa5});
  std::vector<std::byte> again(block.size(), std::byte{0x5a});
  for (std::int64_t i = 0; i < most; ++i) {
    std::int64_t rest = i + 1 == most ? count - 1 : i;
    VolumeIndex place{};
    for (std::size_t axis = 4; axis-- > 0; rest /= grid[axis])
      place[axis] = rest % grid[axis];
    volume.read_block(place, block);
    volume.read_block(place, again);
    if (block != again) finding("a block is another when it is read again");
  }
}

}  // namespace headrace::test
