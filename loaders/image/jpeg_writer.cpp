#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_output.h>
#include <headrace/loaders/image/jpeg_writer.h>

#include <csetjmp>
#include <span>
#include <string>

namespace headrace::inline v1 {
namespace {

struct Encoder {
  jpeg_compress_struct info{};
  detail::JpegError errors{};
  detail::JpegOutput output;

  ~Encoder() { jpeg_destroy_compress(&info); }
  /// False when the library gave up.
  bool run(const std::uint8_t* rgb, int width, int height, int quality);
};

bool Encoder::run(const std::uint8_t* rgb, int width, int height, int quality) {
  errors.attach(info.err);
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_compress(&info);
  output.attach(info);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.optimize_coding = TRUE;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(rgb + std::size_t{info.next_scanline} * info.image_width * 3);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::vector<std::byte> encode_jpeg(const std::uint8_t* rgb, int width, int height, int quality) {
  if (width < 1 || height < 1 || width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION) {
    throw ConfigError("[jpeg] sides must be 1 to " + std::to_string(JPEG_MAX_DIMENSION) + ", got " +
                      std::to_string(width) + " x " + std::to_string(height));
  }
  Encoder encoder;
  if (!encoder.run(rgb, width, height, quality))
    throw ResourceError("[jpeg] the encoder gave up, most likely for want of memory");
  const std::span<const std::byte> written = encoder.output.bytes();
  return {written.begin(), written.end()};
}

}  // namespace headrace::inline v1
