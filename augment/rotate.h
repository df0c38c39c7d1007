#pragma once

#include <headrace/augment/interpolation.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Turns a picture, uint8 [H, W, C], and its masks about its centre by an angle uniform in
/// [-degrees, degrees], counter-clockwise; size kept (torchvision's RandomRotation without expand).
/// Fixed-point coordinates and weights: the same bytes on every machine.
struct HEADRACE_API Rotate {
  using Interpolation = headrace::Interpolation;

  double degrees = 10.0;
  Interpolation interpolation = Interpolation::nearest;
  std::uint8_t fill = 0;  ///< of every channel, where nothing of the picture is
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)
  std::uint16_t mask_fill = 0;          ///< their label where nothing of the picture is

  std::string name() const { return "rotate"; }
  /// Throws ConfigError for degrees outside [0, 360] and for fields that are no pictures or masks.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
  /// The same by a given angle.
  void turn(Sample& sample, double angle) const;
};

}  // namespace headrace::inline v1
