#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/png_writer.h>

#include <string>

#include <png.h>

namespace headrace::inline v1 {

std::vector<std::byte> encode_png(const std::uint8_t* rgb, int width, int height) {
  if (width < 1 || height < 1 || width > ImageLimits::side || height > ImageLimits::side) {
    throw ConfigError("[png] sides must be 1 to 65536, got " + std::to_string(width) + " x " +
                      std::to_string(height));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(bytes);
  if (png_image_write_to_memory(&image, file.data(), &bytes, 0, rgb, 0, nullptr) == 0)
    throw ResourceError(std::string("[png] the encoder gave up: ") + image.message);
  file.resize(bytes);
  return file;
}

}  // namespace headrace::inline v1
