#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_header.h>

#include <string>

namespace headrace::inline v1 {
void check_image_size(std::string_view format, std::int64_t width, std::int64_t height) {
  if (width > 0 && height > 0 && width <= ImageLimits::side && height <= ImageLimits::side &&
      width * height <= ImageLimits::pixels) {
    return;
  }
  throw DataError(std::string(format) + ": sides must be 1 to " +
                  std::to_string(ImageLimits::side) + " and the area at most " +
                  std::to_string(ImageLimits::pixels) + " pixels, got " + std::to_string(width) +
                  " x " + std::to_string(height));
}

std::string_view turned_hint(const ImageHeader& picture, const ImageHeader& mask) {
  if (mask.shown_width() != picture.width || mask.shown_height() != picture.height) return {};
  return "; it is drawn on the picture before EXIF turns it: turn it likewise, or save the picture "
         "as it is shown";
}

}  // namespace headrace::inline v1
