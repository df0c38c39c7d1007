#pragma once

#include <headrace/augment/volume/detail/voxels.h>
#include <headrace/engine/tensor/tensor.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::detail {

// What slice jitter, cutout and patch dropout have drawn, and what they then do, in place.

/// Each slice is moved by its own whole number of voxels.
struct JitterParameters {
  bool moves = false;
  int most = 0;
  std::array<std::uint32_t, 2> key{};
};

struct SliceShift {
  std::int64_t y = 0;
  std::int64_t x = 0;
};

/// Of slice z: words 0 and 1 of Philox 4x32-10's block (z, 0, 0, 0) under the key, each taken to
/// -most .. most by the upper 32 bits of its product with 2 * most + 1.
SliceShift slice_shift(const JitterParameters& drawn, std::int64_t z);

/// Moves the slices of a tensor [..., z, y, x] of any dtype; what comes in is the nearest voxel of
/// the slice's border.
void apply(const JitterParameters& drawn, const Tensor& tensor);

/// A box of voxels.
struct VoxelBox {
  std::array<std::int64_t, 3> from{};
  std::array<std::int64_t, 3> size{};
};

inline constexpr int most_cutouts = 16;

/// Boxes that are filled, in all channels.
struct CutoutParameters {
  int count = 0;
  std::array<VoxelBox, most_cutouts> boxes{};
  float fill = 0.0F;
};

void apply(const CutoutParameters& drawn, const Voxels& voxels);

inline constexpr std::int64_t most_cells = 4096;

/// Cells of a grid that are filled, in all channels: cell (z, y, x) is bit
/// (z * cells[1] + y) * cells[2] + x of `dropped`.
struct DropoutParameters {
  std::int64_t count = 0;               ///< of cells that are filled
  std::array<std::int64_t, 3> cell{};   ///< sides in voxels; the last of an axis may be smaller
  std::array<std::int64_t, 3> cells{};  ///< along each axis
  std::array<std::uint64_t, most_cells / 64> dropped{};
  float fill = 0.0F;
};

void apply(const DropoutParameters& drawn, const Voxels& voxels);

}  // namespace headrace::inline v1::detail
