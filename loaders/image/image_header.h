#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headrace::inline v1 {

/// A rectangle of whole pixels.
struct Region {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

struct ImageHeader;

/// What to say behind the sides of a mask that has not those of its picture: that it is drawn on
/// the picture as it is stored; empty where it is not.
HEADRACE_API std::string_view turned_hint(const ImageHeader& picture, const ImageHeader& mask);

/// What a file says of itself before anything is decoded.
struct ImageHeader {
  std::string_view format;  ///< "JPEG": a name of image_formats()
  int width = 0;            ///< as stored, in pixels
  int height = 0;           ///< as stored, in pixels
  int components = 0;       ///< 1 grey, 3 colour, 4 with alpha or CMYK; 0: the header does not tell
  int orientation = 1;      ///< EXIF 1-8: how the stored pixels are to be shown
  int bits = 8;             ///< of a sample, where there can be 16
  /// The largest of its 8-bit values, of 16-bit pictures that ImageDecoder::check() read.
  int brightest = 255;
  /// Whether 16 bits hold values of 12: a picture that becomes nearly black.
  bool is_dim() const { return bits == 16 && brightest <= 16; }

  /// Whether showing the picture exchanges its sides.
  bool transposed() const noexcept { return orientation >= 5; }
  int shown_width() const noexcept { return transposed() ? height : width; }
  int shown_height() const noexcept { return transposed() ? width : height; }
};

/// Limits that every decoder checks before it takes memory.
struct ImageLimits {
  static constexpr int side = 65536;
  static constexpr std::int64_t pixels = std::int64_t{1} << 28;
  /// Bytes that a decoder holds for one picture, where nothing less is asked for.
  static constexpr std::size_t memory = std::size_t{3} << 30;
  static constexpr int scans = 100;  ///< of a progressive JPEG
  /// Blocks of 8 x 8 coefficients that all scans of a JPEG go over, together: some three seconds of
  /// one core. Twenty scans of 2^26 pixels, each of one component, are a third of it.
  static constexpr std::int64_t scan_blocks = std::int64_t{1} << 26;
};

/// Throws DataError unless both sides are positive and within ImageLimits; `format` is what the
/// message begins with.
HEADRACE_API void check_image_size(std::string_view format, std::int64_t width,
                                   std::int64_t height);

/// Pixels that a decoder holds: 4 bytes each (red, green, blue, unused), valid until the decoder's
/// next call. Whatever the width, 64 bytes after the last pixel may be read.
struct DecodedPixels {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;  ///< bytes from one row to the next
  int scale = 1;           ///< each pixel stands for scale x scale of the stored image
  Region region;           ///< where they lie in the stored image at that scale
};

/// Why a file whose channels differ is no mask.
inline constexpr std::string_view colours_are_no_labels =
    "a mask must have one label a pixel, and this file has colours; store class numbers in a grey "
    "or palette file";

/// Labels that a decoder holds, one a pixel, as the file stores them: valid until the decoder's
/// next call.
struct DecodedLabels {
  const std::uint16_t* data = nullptr;
  std::size_t stride = 0;  ///< labels from one row to the next
  Region region;           ///< where they lie in the stored image
};

}  // namespace headrace::inline v1
