#include <headrace/loaders/volume/detail/foreground/cell_grid.h>

#include <algorithm>

namespace headrace::inline v1::detail {

CellGrid CellGrid::of(const VolumeInfo& info) noexcept {
  constexpr std::int64_t most_side = 64, least_voxels = 4096;
  VolumeIndex cell{1, 1, 1, 1};
  for (std::size_t axis = 1; axis < 4; ++axis) {
    const std::int64_t side = std::min(info.block[axis], info.shape[axis]);
    const std::int64_t parts = (side + most_side - 1) / most_side;
    cell[axis] = (side + parts - 1) / parts;
  }
  const auto grow = [&](std::size_t axis, std::int64_t within, std::int64_t most) {
    while (voxels_of(cell) < least_voxels && cell[axis] < within && 2 * cell[axis] <= most)
      cell[axis] *= 2;
  };
  for (std::size_t axis = 3; axis > 0; --axis)  // as long as it stays in a block
    grow(axis, std::min(info.block[axis], info.shape[axis]), 2 * most_side);
  for (std::size_t axis = 3; axis > 0; --axis)
    grow(axis, info.shape[axis], most_side);
  return {info.shape, cell};
}

VolumeIndex CellGrid::grid() const noexcept {
  return VolumeInfo{.shape = shape, .block = cell}.grid();
}

VolumeBox CellGrid::box(std::int64_t number) const noexcept {
  const VolumeIndex count = grid();
  VolumeBox box;
  for (std::size_t axis = 4; axis-- > 0; number /= count[axis]) {
    box.begin[axis] = number % count[axis] * cell[axis];
    box.end[axis] = std::min(box.begin[axis] + cell[axis], shape[axis]);
  }
  return box;
}

std::vector<std::byte> box_voxels(const CachedVolume& volume, const VolumeBox& box) {
  const std::size_t voxel = size_of(volume.info().dtype);
  std::vector<std::byte> voxels(static_cast<std::size_t>(voxels_of(box.shape())) * voxel);
  volume.read_box(box, BoxMemory::dense(voxels.data(), box.shape(), voxel));
  return voxels;
}

VolumeIndex voxel_at(const VolumeBox& box, std::int64_t number) noexcept {
  const VolumeIndex shape = box.shape();
  VolumeIndex voxel{};
  for (std::size_t axis = 4; axis-- > 0; number /= shape[axis])
    voxel[axis] = box.begin[axis] + number % shape[axis];
  return voxel;
}

}  // namespace headrace::inline v1::detail
