#pragma once

#include <headrace/loaders/image/image_header.h>
#include <headrace/tests/loaders/image_files.h>

#include <cstddef>
#include <cstdint>

namespace headrace::test {

/// All pixels of a file, by a decoder that gives rows of 4 bytes a pixel.
template <class Decoder>
Pixels whole(const Bytes& file) {
  Decoder decoder;
  const ImageHeader header = decoder.open(file);
  const DecodedPixels pixels = decoder.decode({.width = header.width, .height = header.height});
  Pixels rgb;
  for (int y = 0; y < header.height; ++y) {
    for (int x = 0; x < header.width; ++x) {
      const std::uint8_t* at = pixels.data + pixels.stride * static_cast<std::size_t>(y) + 4 * x;
      rgb.insert(rgb.end(), at, at + 3);
    }
  }
  return rgb;
}

}  // namespace headrace::test
