#pragma once

#include <headrace/augment/interpolation.h>
#include <headrace/engine/sample/sample.h>

#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// An affine map from places of the result to places of the source, both in pixels from the centre
/// of the picture, y downwards: x' = xx x + xy y + x0, y' = yx x + yy y + y0.
struct AffineMap {
  double xx = 1;
  double xy = 0;
  double x0 = 0;
  double yx = 0;
  double yy = 1;
  double y0 = 0;
};

/// What an affine transform does to a picture, as torchvision says it: turned clockwise, moved,
/// scaled, sheared.
struct AffineParts {
  double angle = 0;  ///< degrees
  double move_x = 0;
  double move_y = 0;
  double scale = 1;
  double tan_shear_x = 0;
  double tan_shear_y = 0;
  double centre_x = 0;  ///< fixed point, pixels from the centre of the picture
  double centre_y = 0;
};

/// The map that makes it so (torchvision's inverse affine matrix).
AffineMap map_of(const AffineParts& parts);

/// How a picture and its masks are read.
struct WarpRule {
  Interpolation interpolation = Interpolation::nearest;
  std::uint8_t fill = 0;
  std::uint16_t mask_fill = 0;
  /// Bilinear: what reaches over the border loses weight twice, as in torchvision where a fill is
  /// given; else once, as where none is.
  bool blend_fill = true;
};

/// Replaces the picture and its masks by their image under the map, sizes kept. Coordinates have 31
/// fraction bits, weights 11: the same bytes on every machine. Coefficients must be below 2^13,
/// sides below 2^17.
void warp(Sample& sample, const std::string& field, std::span<const std::string> masks,
          const AffineMap& map, const WarpRule& rule);

}  // namespace headrace::inline v1::detail
