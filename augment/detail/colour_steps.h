#pragma once

#include <headrace/augment/detail/picture.h>

#include <cstdint>

namespace headrace::inline v1::detail {

// torchvision's functions of those names on uint8 pictures of 1 or 3 channels; `to` has the
// picture's size and may be the picture itself unless it says otherwise.

void adjust_brightness(const Picture& picture, std::uint8_t* to, double factor);
void adjust_contrast(const Picture& picture, std::uint8_t* to, double factor);
void adjust_saturation(const Picture& picture, std::uint8_t* to, double factor);
void adjust_hue(const Picture& picture, std::uint8_t* to, double shift);
/// `to` must be other memory.
void adjust_sharpness(const Picture& picture, std::uint8_t* to, double factor);
void posterize(const Picture& picture, std::uint8_t* to, int bits);
void solarize(const Picture& picture, std::uint8_t* to, double threshold);
void autocontrast(const Picture& picture, std::uint8_t* to);
void equalize(const Picture& picture, std::uint8_t* to);

}  // namespace headrace::inline v1::detail
