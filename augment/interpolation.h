#pragma once

namespace headrace::inline v1 {

/// How a picture is read between its pixels when it is turned or sheared.
enum class Interpolation : unsigned char {
  nearest,   ///< torchvision's default; half-way places take the higher pixel
  bilinear,  ///< at the border towards the fill, by torchvision's rule
};

}  // namespace headrace::inline v1
