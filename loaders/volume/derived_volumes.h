#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <array>
#include <memory>

namespace headrace::inline v1 {

/// The volume with every voxel replaced by the median of the 27 in the cube around it; at the edges
/// the nearest voxels count again (as scipy.ndimage.median_filter(size=3, mode="nearest")). Block
/// by block, of the same blocks; to be read through another cache than `volume` is. Floats must be
/// numbers. Throws ConfigError for half floats and booleans.
HEADRACE_API std::shared_ptr<const Volume> median_of(std::shared_ptr<const CachedVolume> volume);

/// How a volume's voxels become those of another grid.
enum class GridSampling : unsigned char {
  linear,  ///< trilinear; whole numbers are rounded, halves to even
  /// Of labels: the one with the largest sum of trilinear weights, of equal ones the smallest.
  one_hot,
};

/// The volume on a grid of that spacing (mm along z, y, x), of round(extent * spacing / new
/// spacing) voxels, their outer faces together as far as that rounding lets them; beyond the
/// middles of the outermost voxels those go on. Scale, offset and dtype stay; what is neither
/// uint8, int16, uint16 nor float32 becomes float32 values. To be read through another cache than
/// `volume` is. A block needs at most 16 M voxels of it, where one of its own does not need more.
/// Throws ConfigError for a spacing that is not above 0 and a grid that is too large, and for
/// `one_hot` of floats.
HEADRACE_API std::shared_ptr<const Volume> resampled(std::shared_ptr<const CachedVolume> volume,
                                                     const std::array<double, 3>& spacing,
                                                     GridSampling how);

}  // namespace headrace::inline v1
