#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

// Colours of packed pixels by torchvision's formulas (transforms.v2.functional, uint8), in float32
// with every product and sum rounded apart: the same bytes on every vector target. `from` and `to`
// may be the same memory. Each runs on the best vector target, or on the given one, and returns
// false (0) when there is none of that number.

/// v * gain + bias, held within 0 to 255, fraction dropped.
bool scale_levels(const std::uint8_t* from, std::uint8_t* to, std::int64_t values, float gain,
                  float bias, int target = -1);

/// The sum over RGB pixels of 0.2989 r + 0.587 g + 0.114 b, fractions dropped pixel by pixel.
std::int64_t sum_grey(const std::uint8_t* rgb, std::int64_t pixels, int target = -1);

/// Away from each pixel's grey by `factor`.
bool saturate(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, double factor,
              int target = -1);

/// Each pixel's hue turned by `shift` of the whole circle, -0.5 to 0.5.
bool turn_hue(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, float shift,
              int target = -1);

}  // namespace headrace::inline v1::detail
