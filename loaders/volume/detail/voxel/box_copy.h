#pragma once

#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Where the voxel at an index of a box lies; steps are in bytes.
inline std::byte* voxel_of(const BoxMemory& box, const VolumeIndex& at,
                           std::size_t voxel_bytes) noexcept {
  return box.voxels + at[0] * box.channel_step + at[1] * box.slice_step + at[2] * box.row_step +
         at[3] * static_cast<std::int64_t>(voxel_bytes);
}

/// Puts the first `bytes` bytes at `value`, a voxel, `count` times; none where it is not positive.
void fill_voxels(std::byte* to, std::int64_t count, const std::byte* value,
                 std::size_t bytes) noexcept;

/// Copies voxels of that shape, `from` being steps as `to` is. Rows, slices and channels that lie
/// without gaps on both sides are copied at once.
void copy_box(const BoxMemory& from, const BoxMemory& to, const VolumeIndex& shape,
              std::size_t voxel_bytes) noexcept;

/// Fills what of a box of that shape lies outside `inside`, a part of it that holds voxels already.
void fill_outside(const BoxMemory& to, const VolumeIndex& shape, const VolumeBox& inside,
                  const Outside& outside, std::size_t voxel_bytes) noexcept;

}  // namespace headrace::inline v1::detail
