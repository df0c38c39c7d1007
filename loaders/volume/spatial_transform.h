#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/spatial_map.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1 {

/// Least and most of a parameter that is drawn uniformly.
struct DrawnRange {
  double least = 0.0;
  double most = 0.0;
  friend bool operator==(const DrawnRange&, const DrawnRange&) = default;
};

/// How patches of volumes are turned, scaled, bent and mirrored: draws one coordinate map, with
/// which the patch is cut out of its volume in one pass. A plain value; const and thread-safe.
struct HEADRACE_API SpatialTransform {
  enum class Turns : unsigned char {
    every_axis,  ///< an angle about each of z, y, x
    one_axis,    ///< about one of them, drawn
  };

  double rotation = 0.0;           ///< probability
  DrawnRange angles{-30.0, 30.0};  ///< degrees
  Turns turns = Turns::every_axis;
  double scaling = 0.0;         ///< probability
  DrawnRange scales{0.7, 1.4};  ///< voxels of the volume that a voxel of the patch spans
  bool same_scale = true;       ///< on all axes; else one drawn for each
  double anisotropy = 0.0;      ///< probability that one axis, drawn, is scaled alone
  DrawnRange anisotropies{0.8, 1.3};
  double elastic = 0.0;         ///< probability
  double elastic_sigma = 10.0;  ///< width of the Gaussian that it is as smooth as, in voxels
  DrawnRange elastic_voxels{4.0,
                            10.0};  ///< after smoothing, the most that a place moves on an axis
  std::array<double, 3> mirror{};   ///< probabilities along z, y, x
  /// Slices stay whole: turned about z alone, scaled and bent in y and x ("dummy 2D").
  bool flat = false;

  /// nnU-Net's training: rotation .2 by up to 30 degrees (180 in the plane where `flat`), scaling
  /// .2 by .7 to 1.4, no elastic, each axis mirrored with .5.
  static SpatialTransform nnunet(bool flat = false);

  /// Throws ConfigError for probabilities and ranges that cannot be right.
  void check() const;
  /// A map for a patch around a voxel of a volume. Without any of it, and with mirrors alone,
  /// places are whole voxels.
  SpatialMap draw(const std::array<std::int64_t, 3>& patch,
                  const std::array<std::int64_t, 3>& centre, Random& random) const;
  /// Knots of an elastic map for such a patch, along z, y, x.
  std::array<std::int32_t, 3> knots(const std::array<std::int64_t, 3>& patch) const;
  /// No map that is drawn for such a patch reaches more voxels along an axis, z, y, x.
  std::array<std::int64_t, 3> largest_reach(const std::array<std::int64_t, 3>& patch) const;

  friend bool operator==(const SpatialTransform&, const SpatialTransform&) = default;
};

}  // namespace headrace::inline v1
