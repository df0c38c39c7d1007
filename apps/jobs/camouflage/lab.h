#pragma once

#include <array>

namespace headrace::inline v1::app {

/// Three channels of a colour.
using Colour = std::array<double, 3>;

/// CIE L*a*b* (D65) of an sRGB colour with channels from 0 to 255; L from 0 to 100. Plain double
/// arithmetic, the same on every machine but for the last bit of the C library's roots and powers.
Colour lab_of(const Colour& srgb);

/// Back; what no display can show is cut off at 0 and 255.
Colour srgb_of(const Colour& lab);

/// sRGB channels from 0 to 255 as light, from 0 to 1.
Colour light_of(const Colour& srgb);

/// Back, cut off at 0 and 255.
Colour srgb_of_light(const Colour& light);

/// Luminance of light: its part of Y.
double luminance_of(const Colour& light);

}  // namespace headrace::inline v1::app
