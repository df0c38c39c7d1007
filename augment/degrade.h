#pragma once

#include <headrace/augment/gaussian_blur.h>
#include <headrace/augment/gaussian_noise.h>
#include <headrace/augment/motion_blur.h>
#include <headrace/engine/base/export.h>

#include <cstddef>
#include <string>

namespace headrace::inline v1 {

/// With probability p does one of three things to a picture, uint8 [H, W, C]: noise, a blur, or a
/// motion blur, drawn by their weights (Albumentations' OneOf of these). Masks stay as they are.
/// Each part names its field itself.
struct HEADRACE_API Degrade {
  double p = 0.3;
  double noise_weight = 1.0;  ///< not negative, 0: never; one of the three must be above 0
  double blur_weight = 1.0;
  double motion_weight = 1.0;
  GaussianNoise noise{};
  GaussianBlur blur{.height = 7, .width = 7, .sigma = {0.5, 1.5}};
  MotionBlur motion{};

  std::string name() const { return "degrade"; }
  /// Throws ConfigError for parameters that cannot be right, also of a part, unless its weight is
  /// 0.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Draws whether, which, then what that part draws.
  void operator()(Sample& sample, Random& random) const;
};

}  // namespace headrace::inline v1
