#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// RGB (sRGB, D65) to CIE Lab in 8 bits: L * 255 / 100, a + 128, b + 128, in fixed point: the
/// lightness equals OpenCV's, a and b are within 1 of it.
void rgb_to_lab(const std::uint8_t* rgb, std::int64_t pixels, std::uint8_t* lab);

/// The way back; within 2 levels of OpenCV's, held within the gamut.
void lab_to_rgb(const std::uint8_t* lab, std::int64_t pixels, std::uint8_t* rgb);

}  // namespace headrace::inline v1::detail
