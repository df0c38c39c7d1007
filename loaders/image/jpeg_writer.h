#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1 {

/// Packed RGB pixels, rows of 3 * width bytes, as a JPEG file: 4:2:0, tables made for the picture.
/// `quality` is libjpeg's, 1 to 100. The same pixels give the same bytes. Thread-safe. Throws
/// ConfigError for sides that cannot be, ResourceError when the encoder gives up.
HEADRACE_API std::vector<std::byte> encode_jpeg(const std::uint8_t* rgb, int width, int height,
                                                int quality);

}  // namespace headrace::inline v1
