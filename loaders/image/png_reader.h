#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// Packed pixels of 4 bytes: red, green, blue, alpha.
struct RgbaPicture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba{};
};

/// A PNG file with its alpha, which ImageDecoder leaves out: colours as stored, not multiplied by
/// it. For cut-outs, that are small: sides up to 16384. Thread-safe. Throws DataError for a file
/// that is broken, larger, or has no alpha or no colours.
HEADRACE_API RgbaPicture decode_rgba_png(std::span<const std::byte> file);

}  // namespace headrace::inline v1
