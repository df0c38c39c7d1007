#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/png_decoder.h>
#include <headrace/loaders/image/png_reader.h>

#include <cstring>
#include <string>

namespace headrace::inline v1 {

RgbaPicture decode_rgba_png(std::span<const std::byte> file) {
  constexpr int most_side = 16384;
  PngDecoder decoder;
  const ImageHeader header = decoder.open(file);
  if (!decoder.has_coloured_alpha()) throw DataError("PNG: must have colours and alpha");
  if (header.width > most_side || header.height > most_side) {
    throw DataError("PNG: sides must be at most 16384, got " + std::to_string(header.width) +
                    " x " + std::to_string(header.height));
  }
  const DecodedPixels pixels =
      decoder.decode({.width = header.width, .height = header.height}, true);
  const std::size_t row = std::size_t{4} * static_cast<std::size_t>(header.width);
  RgbaPicture picture{
      .width = header.width,
      .height = header.height,
      .rgba = std::vector<std::uint8_t>(row * static_cast<std::size_t>(header.height))};
  for (std::size_t y = 0; y < static_cast<std::size_t>(header.height); ++y)
    std::memcpy(picture.rgba.data() + row * y, pixels.data + pixels.stride * y, row);
  return picture;
}

}  // namespace headrace::inline v1
