#pragma once

#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// A volume of one channel cut into cells, so that an index keeps a few numbers for each, and one
/// voxel is found by reading one cell.
struct CellGrid {
  VolumeIndex shape{};
  VolumeIndex cell{};

  /// Cells for a volume: its blocks, cut into sides of at most 64 voxels; what then has less than
  /// 4096 voxels grows, inside its block where that has more.
  static CellGrid of(const VolumeInfo& info) noexcept;

  VolumeIndex grid() const noexcept;
  /// Voxels of a cell.
  VolumeBox box(std::int64_t number) const noexcept;
};

/// The stored voxels of a box inside the volume, without gaps.
std::vector<std::byte> box_voxels(const CachedVolume& volume, const VolumeBox& box);

/// The place of the voxel of that number among those of a box.
VolumeIndex voxel_at(const VolumeBox& box, std::int64_t number) noexcept;

}  // namespace headrace::inline v1::detail
