#pragma once

#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/export.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::models {

/// What happens to the holes of a volume as voxels join it one by one.
struct CriticalCells {
  /// Cells of each dimension, 0 to 3, without which the homotopy type would have stayed: cell k
  /// makes a hole of dimension k or fills one of dimension k - 1.
  std::array<std::int64_t, 4> count{};

  friend bool operator==(const CriticalCells&, const CriticalCells&) = default;
};

/// Adds to `from` the voxels of `to` that it lacks, simple ones (which change no homotopy type)
/// before others, and counts what the others change; voxels are vertices of a complex of cubes,
/// which hang together by faces. Each voxel's part is read from its link, a part of an octahedron
/// (as in Robins, Wood, Sheppard: "Theory and Algorithms for Constructing Discrete Morse Complexes
/// from Grayscale Digital Images", PAMI 33, 2011). The counts are those of one order, not the least
/// that there are: relative Betti numbers of (to, from) are at most so large and have the same
/// alternating sum. 2 bytes a voxel, and 8 for each that waits. Throws DataError for different
/// extents and where `from` does not lie in `to`.
HEADRACE_API CriticalCells critical_cells(const VoxelBits& from, const VoxelBits& to);

}  // namespace headrace::inline v1::models
