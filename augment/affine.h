#pragma once

#include <headrace/augment/interpolation.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Turns, moves, scales and shears a picture, uint8 [H, W, C], and its masks about its centre in
/// one pass; size kept (torchvision's RandomAffine). Fixed-point coordinates and weights: the same
/// bytes on every machine.
struct HEADRACE_API Affine {
  std::array<double, 2> degrees = {0, 0};  ///< least and most angle, clockwise
  /// Most shares of width and height, either way; moves are whole pixels.
  std::array<double, 2> translate = {0, 0};
  std::array<double, 2> scale = {1, 1};    ///< least and most factor, 0.01 to 100
  std::array<double, 2> shear_x = {0, 0};  ///< least and most degrees, within 80
  std::array<double, 2> shear_y = {0, 0};
  Interpolation interpolation = Interpolation::nearest;
  std::uint8_t fill = 0;  ///< of every channel, where nothing of the picture is
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)
  std::uint16_t mask_fill = 0;          ///< their label where nothing of the picture is
  double p = 1.0;                       ///< probability of doing anything

  /// One drawn transform: degrees, pixels, a factor.
  struct Parts {
    double angle = 0;
    double move_x = 0;
    double move_y = 0;
    double scale = 1;
    double shear_x = 0;
    double shear_y = 0;
  };

  std::string name() const { return "affine"; }
  /// Throws ConfigError for ranges that cannot be right, a p outside [0, 1], and fields that are no
  /// pictures or masks.
  Schema schema(const Schema& in) const;
  /// Draws whether, unless p is 1, then angle, moves, scale and shears, each of them always.
  void operator()(Sample& sample, Random& random) const;
  /// The same by given parts.
  void apply(Sample& sample, const Parts& parts) const;
};

}  // namespace headrace::inline v1
