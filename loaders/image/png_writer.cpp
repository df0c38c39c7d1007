#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/png_writer.h>

#include <algorithm>
#include <string>

#include <png.h>

namespace headrace::inline v1 {
namespace {

png_image image_of(int width, int height, png_uint_32 format) {
  if (width < 1 || height < 1 || width > ImageLimits::side || height > ImageLimits::side) {
    throw ConfigError("[png] sides must be 1 to 65536, got " + std::to_string(width) + " x " +
                      std::to_string(height));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  return image;
}

std::vector<std::byte> encode(png_image& image, const void* pixels, const void* palette) {
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(bytes);
  if (png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels, 0, palette) == 0)
    throw ResourceError(std::string("[png] the encoder gave up: ") + image.message);
  file.resize(bytes);
  return file;
}

}  // namespace

std::vector<std::byte> encode_png(const std::uint8_t* rgb, int width, int height) {
  png_image image = image_of(width, height, PNG_FORMAT_RGB);
  return encode(image, rgb, nullptr);
}

std::vector<std::byte> encode_palette_png(const std::uint8_t* indices, int width, int height,
                                          std::span<const std::array<std::uint8_t, 3>> palette) {
  png_image image = image_of(width, height, PNG_FORMAT_RGB_COLORMAP);
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const int largest = *std::max_element(indices, indices + pixels);
  if (palette.size() > 256 || static_cast<std::size_t>(largest) >= palette.size()) {
    throw ConfigError("[png] a palette must have at most 256 colours and one for each index, got " +
                      std::to_string(palette.size()) + " for index " + std::to_string(largest));
  }
  image.colormap_entries = static_cast<png_uint_32>(palette.size());
  return encode(image, indices, palette.data());
}

std::vector<std::byte> encode_grey_png(const std::uint8_t* values, int width, int height) {
  png_image image = image_of(width, height, PNG_FORMAT_GRAY);
  return encode(image, values, nullptr);
}

std::vector<std::byte> encode_grey16_png(const std::uint16_t* values, int width, int height) {
  png_image image = image_of(width, height, PNG_FORMAT_LINEAR_Y);
  return encode(image, values, nullptr);
}

}  // namespace headrace::inline v1
