#pragma once

#include <headrace/engine/tensor/dtype.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1 {
struct SpatialMap;
struct VolumeBox;
}  // namespace headrace::inline v1

namespace headrace::inline v1::detail {

/// How the voxels of one patch are found in its box. Axes z, y, x; a place is counted in the box's
/// voxels. The place of voxel v is origin + matrix v + displacement(v / knot spacing), the last a
/// uniform cubic B-spline; places outside the box mean its edge.
struct PatchMap {
  double matrix[9];
  double origin[3];
  float knots_per_voxel;      ///< 1 / spacing of the displacement's knots
  std::int32_t knots[3];      ///< 0: no displacement; knot 1 lies at voxel 0
  std::int32_t box_shape[3];  ///< all 0: no sample, the patch is 0
  std::int32_t patch[3];      ///< for which it was drawn; of another one nothing is made
};

/// Voxels behind a box that may be read and mean nothing.
inline constexpr std::int64_t box_slack = 4;
/// More knots than that along x no map has.
inline constexpr std::int32_t most_knots = 256;

/// Whether voxels of that type are resampled as they are stored.
constexpr bool is_resampled(DType dtype) noexcept {
  return dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::uint16 ||
         dtype == DType::float32;
}

enum class Resampling : std::uint8_t {
  linear,   ///< trilinear, to float32: (stored value) * scale + offset
  nearest,  ///< the voxel next to the place, of halves the upper one; the stored type
  /// Of the eight voxels around, trilinear weights summed for each value; the largest sum, of equal
  /// ones the smallest value; the stored type.
  one_hot,
};

/// Patches cut from boxes, on the host or a device, of finite voxels to the same bits (but for the
/// sign of a label 0 of float32). Stored types: uint8, int16, uint16, float32. The host reads up to
/// box_slack voxels behind a box.
struct ResampleTask {
  const std::byte* boxes = nullptr;                    ///< each [channels, box_shape]
  const std::int64_t* box_offsets = nullptr;           ///< [samples], voxels before a sample's box
  const float* displacements = nullptr;                ///< each [knots z, knots y, 3, knots x]
  const std::int64_t* displacement_offsets = nullptr;  ///< [samples], floats before a sample's
  const PatchMap* maps = nullptr;                      ///< [samples]
  const float* values = nullptr;  ///< scale and offset, [samples, channels, 2]; linear only
  std::int64_t samples = 0;
  std::int64_t channels = 1;
  std::int32_t patch[3] = {};
  DType stored = DType::uint8;
  Resampling how = Resampling::linear;
  void* to = nullptr;  ///< [samples, channels, patch]
};

/// The map as a task takes it, for a box of the volume.
PatchMap patch_map(const SpatialMap& map, const VolumeBox& box);

/// Rows [first, last) of the task's samples * patch[0] * patch[1] rows, on the calling thread, with
/// the `target`-th vector target (-1: the best); false where there is none. The bits are the same
/// on every target and on a device.
bool resample_rows(const ResampleTask& task, std::int64_t first, std::int64_t last,
                   int target = -1);

}  // namespace headrace::inline v1::detail
