#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <string>

namespace headrace::inline v1 {

/// Adds to every value of a picture, uint8 [H, W, C], a whole number of levels from a normal
/// distribution (in 4096 steps) of mean 0, whose deviation is uniform in `sigma`; held within 0 to
/// 255. The same bytes on every machine. The default is Albumentations' variance of 10 to 50.
struct HEADRACE_API GaussianNoise {
  std::array<double, 2> sigma = {3, 7};  ///< least and most deviation in levels, 0 to 255
  double p = 1.0;                        ///< probability of noise at all
  std::string field = "image";

  std::string name() const { return "noise"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures.
  Schema schema(const Schema& in) const;
  /// Draws whether, the deviation, then 32 bits for every two values.
  void operator()(Sample& sample, Random& random) const;
  /// The same by a given deviation; 0 changes nothing.
  void add(Sample& sample, double deviation, Random& random) const;
};

}  // namespace headrace::inline v1
