#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/mask_pair.h>

#include <span>
#include <vector>

namespace headrace::inline v1::models {

/// How much of two surfaces lies within a tolerance, in voxels, of the other one.
struct SurfaceAgreement {
  double tolerance = 0.0;
  double prediction_near = 0.0;  ///< area of the predicted surface that does
  double truth_near = 0.0;       ///< area of the true one
  double dice = 0.0;             ///< of both, in the area of both
};

struct SurfaceDice {
  double prediction_area = 0.0;  ///< in squares of a voxel's side
  double truth_area = 0.0;
  std::vector<SurfaceAgreement> at{};  ///< for each tolerance, in the order asked for
};

/// Surface Dice (Nikolov et al.: "Deep learning to achieve clinically applicable segmentation of
/// head and neck anatomy for radiotherapy", 2018) for voxels of side 1, as the package
/// surface-distance 0.1 has it: the surface of a mask are the cells of 2 x 2 x 2 voxels in which it
/// is neither none nor all, with the area of the triangles that cut them, and a cell is near when
/// the closest cell of the other surface is. Outside of the volume there is background. Both masks
/// empty give 1, one of them 0. Distances are exact, found within the largest tolerance alone, so
/// that no map of them is made. In parallel over slices by the oneTBB arena that it is called in,
/// the same values for any number of threads. Throws ConfigError without tolerances, for more than
/// 64, and for one outside of 0 to 31.
HEADRACE_API SurfaceDice surface_dice(const MaskPair& pair, std::span<const double> tolerances);

/// Area of the surface in a cell of 2 x 2 x 2 voxels: bit 4 z + 2 y + x says whether a voxel is
/// foreground. 0 for none and all.
HEADRACE_API double surface_area(unsigned cell);

}  // namespace headrace::inline v1::models
