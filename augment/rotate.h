#pragma once

#include <cstdint>
#include <string>

#include <headrace/engine/export.h>
#include <headrace/engine/field.h>
#include <headrace/engine/random.h>
#include <headrace/engine/sample.h>

namespace headrace::inline v1 {

/// Turns a picture, uint8 [H, W, C], about its centre by an angle uniform in [-degrees, degrees],
/// counter-clockwise; size kept (torchvision's RandomRotation without expand). Fixed-point
/// coordinates and weights: the same bytes on every machine.
struct HEADRACE_API Rotate {
  enum class Interpolation : unsigned char {
    nearest,   ///< torchvision's default; half-way places take the higher pixel
    bilinear,  ///< at the border towards `fill`, by torchvision's rule
  };

  double degrees = 10.0;
  Interpolation interpolation = Interpolation::nearest;
  std::uint8_t fill = 0;  ///< of every channel, where nothing of the picture is
  std::string field = "image";

  std::string name() const { return "rotate"; }
  /// Throws ConfigError for degrees outside [0, 360] and for fields that are no pictures.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
  /// The same by a given angle.
  void turn(Sample& sample, double angle) const;
};

}  // namespace headrace::inline v1
