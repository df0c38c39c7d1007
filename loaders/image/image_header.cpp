#include <headrace/loaders/image/image_header.h>

#include <cstring>
#include <string>

#include <headrace/engine/base/error.h>

namespace headrace::inline v1 {
namespace {

bool has(std::span<const std::byte> file, std::size_t at, std::string_view text) noexcept {
  return file.size() >= at + text.size() &&
         std::memcmp(file.data() + at, text.data(), text.size()) == 0;
}

}  // namespace

std::string_view name_of(ImageFormat format) noexcept {
  switch (format) {
    case ImageFormat::jpeg:
      return "JPEG";
    case ImageFormat::png:
      return "PNG";
    case ImageFormat::webp:
      return "WebP";
    case ImageFormat::bmp:
      return "BMP";
    case ImageFormat::tiff:
      return "TIFF";
    case ImageFormat::unknown:
      break;
  }
  return "unknown format";
}

ImageFormat format_of(std::span<const std::byte> file) noexcept {
  using namespace std::string_view_literals;
  if (has(file, 0, "\xff\xd8\xff"sv)) return ImageFormat::jpeg;
  if (has(file, 0, "\x89PNG\r\n\x1a\n"sv)) return ImageFormat::png;
  if (has(file, 0, "RIFF"sv) && has(file, 8, "WEBP"sv)) return ImageFormat::webp;
  if (has(file, 0, "BM"sv)) return ImageFormat::bmp;
  for (std::string_view mark : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (has(file, 0, mark)) return ImageFormat::tiff;
  }
  return ImageFormat::unknown;
}

void check_image_size(ImageFormat format, std::int64_t width, std::int64_t height) {
  if (width > 0 && height > 0 && width <= ImageLimits::side && height <= ImageLimits::side &&
      width * height <= ImageLimits::pixels) {
    return;
  }
  throw DataError(std::string(name_of(format)) + ": sides must be 1 to " +
                  std::to_string(ImageLimits::side) + " and the area at most " +
                  std::to_string(ImageLimits::pixels) + " pixels, got " + std::to_string(width) +
                  " x " + std::to_string(height));
}

}  // namespace headrace::inline v1
