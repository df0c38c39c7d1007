#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstddef>
#include <string>

namespace headrace::inline v1 {

/// Smears a picture, uint8 [H, W, C], along a line, as a camera that moves does: the mean of
/// `length` places one pixel apart, each between four pixels, in any direction; the border is
/// reflected. The default is Albumentations' lengths. Integer arithmetic: the same bytes on every
/// vector width.
struct HEADRACE_API MotionBlur {
  /// Least and most pixels of the line, 1 to 63; half of it less than the picture's sides.
  std::array<int, 2> length = {3, 7};
  double p = 1.0;  ///< probability of smearing at all
  std::string field = "image";

  std::string name() const { return "motion blur"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Draws whether, the length, then the direction.
  void operator()(Sample& sample, Random& random) const;
  /// The same by a given length and angle in degrees, clockwise from the rows; length 1 changes
  /// nothing. Throws DataError for a picture that is too small to be reflected.
  void blur(Sample& sample, int pixels, double angle) const;
};

}  // namespace headrace::inline v1
