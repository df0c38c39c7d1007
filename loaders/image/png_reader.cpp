#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/png_reader.h>

#include <string>

#include <png.h>

namespace headrace::inline v1 {
namespace {

constexpr png_uint_32 most_side = 16384;

/// The library's own record of an open file, freed whatever happens.
struct OpenImage {
  png_image image{};

  OpenImage() { image.version = PNG_IMAGE_VERSION; }
  ~OpenImage() { png_image_free(&image); }
  OpenImage(const OpenImage&) = delete;
  OpenImage& operator=(const OpenImage&) = delete;
};

}  // namespace

RgbaPicture decode_rgba_png(std::span<const std::byte> file) {
  OpenImage open;
  png_image& image = open.image;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0)
    throw DataError(std::string("PNG: ") + image.message);
  constexpr png_uint_32 wanted = PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_COLOR;
  if ((image.format & wanted) != wanted) throw DataError("PNG: must have colours and alpha");
  if (image.width > most_side || image.height > most_side) {
    throw DataError("PNG: sides must be at most 16384, got " + std::to_string(image.width) + " x " +
                    std::to_string(image.height));
  }
  image.format = PNG_FORMAT_RGBA;
  RgbaPicture picture{.width = static_cast<int>(image.width),
                      .height = static_cast<int>(image.height),
                      .rgba = std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
  if (png_image_finish_read(&image, nullptr, picture.rgba.data(), 0, nullptr) == 0)
    throw DataError(std::string("PNG: ") + image.message);
  return picture;
}

}  // namespace headrace::inline v1
