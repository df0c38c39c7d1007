#pragma once

#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/mask_colours.h>
#include <headrace/loaders/image/pixel_buffer.h>

#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// A colour as one number, 0xRRGGBB.
inline std::uint32_t number_of(std::uint8_t red, std::uint8_t green, std::uint8_t blue) noexcept {
  return static_cast<std::uint32_t>(red) << 16 | static_cast<std::uint32_t>(green) << 8 | blue;
}
inline std::uint32_t number_of(const MaskColour& colour) noexcept {
  return number_of(colour.red, colour.green, colour.blue);
}

/// "[255, 0, 0]".
std::string to_text(std::uint32_t colour);

/// Makes labels of the colours of a picture. Keeps its memory.
class ColourLabels {
 public:
  /// The labels of all pixels of full-size `pixels`. Throws DataError, which begins with `format`,
  /// for a colour that is not among `colours`: which, where first, how often, the nearest.
  DecodedLabels labels(const DecodedPixels& pixels, std::span<const MaskColour> colours,
                       std::string_view format);

 private:
  PixelBuffer labels_;
};

}  // namespace headrace::inline v1::detail
