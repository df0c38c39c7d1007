#pragma once

#include <headrace/loaders/volume/volume_reader.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// A box of values, of one channel, without gaps.
struct ValueBox {
  const CachedVolume& from;
  VolumeBox box{};
  Outside::Rule rule = Outside::Rule::fill;
  float outside = 0.0F;  ///< beyond the volume, under the rule `fill`

  std::size_t voxels() const noexcept { return static_cast<std::size_t>(voxels_of(box.shape())); }
};

/// Whether scaled_values() needs one pass for voxels stored so: uint8, int16, uint16, float32.
bool is_scaled_at_once(DType stored) noexcept;

/// Values as the file gives them: stored * scale + offset of its info(), as to_float().
void read_values(const ValueBox& what, float* to);

/// (float of the stored voxel) * scale + offset, without fusing both, where it is scaled at once;
/// else the same of read_values(). `outside` is not scaled.
void read_scaled(const ValueBox& what, float scale, float offset, float* to);

/// Labels of any dtype, and `outside` beyond the volume. Throws DataError for values that are no
/// whole numbers of int16.
void read_labels(const CachedVolume& from, const VolumeBox& box, std::int16_t outside,
                 std::int16_t* to);

}  // namespace headrace::inline v1::detail
