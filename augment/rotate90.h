#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Turns a square picture, uint8 [S, S, C], and its masks by 90, 180 or 270 degrees, each as
/// likely, with probability p (MONAI's RandRotate90). Pixels are moved, none is mixed.
struct HEADRACE_API Rotate90 {
  double p = 0.5;  ///< probability of turning at all
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)

  std::string name() const { return "rotate90"; }
  /// Throws ConfigError for a p outside [0, 1], for pictures that are not square, and for fields
  /// that are no pictures or masks.
  Schema schema(const Schema& in) const;
  /// Draws whether, then how far.
  void operator()(Sample& sample, Random& random) const;
  /// The same by a given number of quarter turns, counter-clockwise; any integer. Throws DataError
  /// for a picture that is not square.
  void turn(Sample& sample, int quarters) const;
};

}  // namespace headrace::inline v1
