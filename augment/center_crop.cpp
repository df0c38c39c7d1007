#include <headrace/augment/center_crop.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/mask.h>

#include <cmath>
#include <cstring>

namespace headrace::inline v1 {
namespace {

std::string too_small(const CenterCrop& crop, const Shape& got) {
  return "picture must be at least " + std::to_string(crop.height) + " x " +
         std::to_string(crop.width) + " (height x width), got " + to_string(got) +
         "; resize it first";
}

std::int64_t margin(std::int64_t whole, std::int64_t part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - part) / 2));
}

}  // namespace

Schema CenterCrop::schema(const Schema& in) const {
  const FieldSpec& image = detail::masked_field(in, field, masks, name());
  if (height < 1 || width < 1 || height > image.shape[0] || width > image.shape[1]) {
    throw ConfigError("[center crop] " + too_small(*this, image.shape));
  }
  return with_sides(in, field, masks, height, width);
}

void CenterCrop::operator()(Sample& sample) const {
  const Tensor whole = sample[field];
  const detail::Picture picture = detail::picture_of(whole, field);
  if (picture.height < height || picture.width < width) {
    throw DataError(too_small(*this, whole.shape()));
  }
  if (picture.height == height && picture.width == width) return;
  const std::int64_t top = margin(picture.height, height);
  const std::int64_t left = margin(picture.width, width);
  detail::move_pixels(
      sample, field, masks, height, width, [&](const detail::Raster& from, std::uint8_t* to) {
        const std::int64_t row = width * from.pixel_bytes;
        const std::uint8_t* first = from.data + top * from.row_bytes() + left * from.pixel_bytes;
        for (std::int64_t y = 0; y < height; ++y, to += row)
          std::memcpy(to, first + y * from.row_bytes(), static_cast<std::size_t>(row));
      });
}

}  // namespace headrace::inline v1
