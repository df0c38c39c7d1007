#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_format.h>

namespace headrace::inline v1::detail {

ImageHeader JpegFormat::open(std::span<const std::byte> file) {
  indexed_ = CropIndexedJpeg::recognises(file);
  return indexed_ ? parts_.open(file) : jpeg_.open(file);
}

DecodedPixels JpegFormat::decode(const Region& region, int scale) {
  return indexed_ ? decode_part(region, scale) : jpeg_.decode(region, scale);
}

DecodedPixels JpegFormat::decode_part(const Region& region, int scale) {
  const CropIndexedJpeg::Part part = parts_.part(region, scale);
  jpeg_.open_part(part.markers);
  Region inside = region;
  inside.x -= part.x;
  inside.y -= part.y;
  DecodedPixels pixels = jpeg_.decode_part(inside, scale, part.rows);
  pixels.region.x += part.x / scale;
  pixels.region.y += part.y / scale;
  return pixels;
}

std::size_t JpegFormat::needed_bytes(const Region& region, int scale) const {
  const std::size_t pixels = JpegDecoder::pixel_bytes(region, scale);
  return indexed_ ? pixels : pixels + jpeg_.library_bytes();
}

void JpegFormat::check(const Region& whole) {
  if (indexed_) {
    parts_.check();
    jpeg_.open(parts_.jpeg());
  }
  jpeg_.decode(whole, 8);
}

bool JpegFormat::decode_whole(std::uint8_t* rgb) {
  if (indexed_) jpeg_.open(parts_.jpeg());
  jpeg_.decode_whole(rgb);
  return true;
}

DecodedLabels JpegFormat::decode_labels(const Region& /*region*/) {
  throw DataError("JPEG: its compression changes labels; store masks as PNG");
}

}  // namespace headrace::inline v1::detail
