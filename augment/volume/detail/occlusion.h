#pragma once

#include <headrace/augment/volume/detail/voxels.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>

namespace headrace::inline v1::detail {

// What slice jitter, cutout and patch dropout do in place, once they have drawn.

/// Where a slice goes, in voxels.
struct SliceShift {
  std::int64_t y = 0;
  std::int64_t x = 0;
};

/// Of slice z: words 0 and 1 of Philox 4x32-10's block (z, 0, 0, 0) under the key, each taken to
/// -most .. most by the upper 32 bits of its product with 2 * most + 1.
SliceShift slice_shift(const SliceJitterParameters& drawn, std::int64_t z);

/// Moves the slices of a tensor [..., z, y, x] of any dtype; what comes in is the nearest voxel of
/// the slice's border.
void apply(const SliceJitterParameters& drawn, const Tensor& tensor);

/// Fills boxes, or cells.
void apply(const VolumeCutoutParameters& drawn, const Voxels& voxels);
void apply(const PatchDropoutParameters& drawn, const Voxels& voxels);

}  // namespace headrace::inline v1::detail
