#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1 {

/// Packed RGB pixels, rows of 3 * width bytes, as a PNG file. Throws ConfigError for sides that
/// cannot be, ResourceError when the encoder gives up.
HEADRACE_API std::vector<std::byte> encode_png(const std::uint8_t* rgb, int width, int height);

}  // namespace headrace::inline v1
