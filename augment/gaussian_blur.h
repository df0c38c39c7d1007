#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstddef>
#include <string>

namespace headrace::inline v1 {

/// Smooths a picture, uint8 [H, W, C], by a Gaussian whose deviation is uniform in `sigma`, cut to
/// height x width pixels; the border is reflected (torchvision's GaussianBlur, within 1 level).
/// Integer arithmetic: the same bytes on every vector width.
struct HEADRACE_API GaussianBlur {
  int height = 3;  ///< of the kernel: odd, 1 to 127, and less than twice the picture's height
  int width = 3;   ///< likewise
  std::array<double, 2> sigma = {0.1, 2.0};  ///< least and most deviation in pixels
  double p = 1.0;                            ///< probability of smoothing at all
  std::string field = "image";

  std::string name() const { return "blur"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Draws whether, then the deviation.
  void operator()(Sample& sample, Random& random) const;
  /// The same by a given deviation. Throws DataError for a picture that is too small to be
  /// reflected.
  void blur(Sample& sample, double deviation) const;
};

}  // namespace headrace::inline v1
