#pragma once

#include <headrace/engine/base/export.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// Packed RGB pixels, rows of 3 * width bytes, as a PNG file. Throws ConfigError for sides that
/// cannot be, ResourceError when the encoder gives up.
HEADRACE_API std::vector<std::byte> encode_png(const std::uint8_t* rgb, int width, int height);

/// The same for indices, a byte a pixel, into a palette of 1 to 256 colours (red, green, blue); the
/// file stores the indices. Throws ConfigError also for an index behind the palette.
HEADRACE_API std::vector<std::byte> encode_palette_png(
    const std::uint8_t* indices, int width, int height,
    std::span<const std::array<std::uint8_t, 3>> palette);

/// The same for values of 8 bits a pixel, which the file stores as a grey picture.
HEADRACE_API std::vector<std::byte> encode_grey_png(const std::uint8_t* values, int width,
                                                    int height);

/// The same for values of 16 bits a pixel, which the file stores as a grey picture.
HEADRACE_API std::vector<std::byte> encode_grey16_png(const std::uint16_t* values, int width,
                                                      int height);

}  // namespace headrace::inline v1
