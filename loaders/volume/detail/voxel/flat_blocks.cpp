#include <headrace/loaders/volume/detail/voxel/flat_blocks.h>

#include <algorithm>

namespace headrace::inline v1::detail {

VolumeIndex flat_block(const VolumeIndex& shape, std::int64_t voxel_bytes) {
  constexpr std::int64_t wanted_bytes = std::int64_t{1} << 19;
  std::int64_t left = std::max<std::int64_t>(wanted_bytes / voxel_bytes, 1);
  VolumeIndex block{1, 1, 1, 1};
  for (std::size_t axis = 3; axis > 0; --axis) {
    block[axis] = std::min(shape[axis], left);
    if (block[axis] < shape[axis]) break;
    left = std::max<std::int64_t>(left / shape[axis], 1);
  }
  return block;
}

FlatRange flat_range(const VolumeInfo& info, const VolumeIndex& place) {
  FlatRange range{0, 1};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::int64_t begin = place[axis] * info.block[axis];
    range.first = range.first * info.shape[axis] + begin;
    range.count *= std::min(info.block[axis], info.shape[axis] - begin);
  }
  return range;
}

}  // namespace headrace::inline v1::detail
