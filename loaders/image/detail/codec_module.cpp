#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/open_module.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/codec_module.h>
#include <headrace/loaders/image/opencv_codecs_abi.h>

#include <string>

namespace headrace::inline v1::detail {
namespace {

constexpr const char* module_file = "headrace_opencv_codecs.so";

}  // namespace

ImageHeader ModulePicture::open(std::span<const std::byte> file, std::string_view format,
                                std::int64_t width, std::int64_t height) {
  check_image_size(format, width, height);
  pixels_.trim();
  labels_.trim();
  file_ = file;
  header_ = {
      .format = format, .width = static_cast<int>(width), .height = static_cast<int>(height)};
  return header_;
}

DecodedPixels ModulePicture::decode() {
  const std::string format(header_.format);
  static const auto codecs =
      open_function<HeadraceDecodeImage>(module_file, HEADRACE_DECODE_IMAGE_SYMBOL);
  if (codecs.call == nullptr) {
    throw ConfigError(format + ": needs the module " + module_file + ", which cannot be opened (" +
                      codecs.reason +
                      "); install the package libopencv-imgcodecs406, and the module beside the "
                      "program, or convert the files to JPEG or PNG");
  }
  const std::size_t stride = PixelBuffer::padded(static_cast<std::size_t>(header_.width) * 4);
  std::uint8_t* out = pixels_.reserve(stride * static_cast<std::size_t>(header_.height));
  char message[256] = {};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(file_.data());
  if (codecs.call(bytes, file_.size(), out, stride, header_.width, header_.height, message,
                  sizeof message) != 0) {
    throw DataError(format + ": " + printable(message));
  }
  return {.data = out,
          .stride = stride,
          .scale = 1,
          .region = {.width = header_.width, .height = header_.height}};
}

DecodedLabels ModulePicture::decode_labels() {
  std::uint16_t* out = label_room();
  const DecodedPixels pixels = decode();
  const auto width = static_cast<std::size_t>(header_.width);
  const std::size_t count = width * static_cast<std::size_t>(header_.height);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* rgb = pixels.data + pixels.stride * (i / width) + 4 * (i % width);
    if (rgb[0] != rgb[1] || rgb[0] != rgb[2]) {
      throw DataError(std::string(header_.format) + ": " + std::string(colours_are_no_labels));
    }
    out[i] = rgb[0];
  }
  return labels();
}

std::uint16_t* ModulePicture::label_room() {
  const std::size_t count =
      static_cast<std::size_t>(header_.width) * static_cast<std::size_t>(header_.height);
  return reinterpret_cast<std::uint16_t*>(labels_.reserve(count * 2));
}

DecodedLabels ModulePicture::labels() const {
  return {.data = reinterpret_cast<const std::uint16_t*>(labels_.data()),
          .stride = static_cast<std::size_t>(header_.width),
          .region = {.width = header_.width, .height = header_.height}};
}

}  // namespace headrace::inline v1::detail
