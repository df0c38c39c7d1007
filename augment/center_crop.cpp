#include <headrace/augment/center_crop.h>

#include <cmath>
#include <cstring>

#include <headrace/augment/detail/picture.h>
#include <headrace/engine/error.h>

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
  const FieldSpec& image = detail::picture_field(in, field, name());
  if (height < 1 || width < 1 || height > image.shape[0] || width > image.shape[1]) {
    throw ConfigError("[center crop] " + too_small(*this, image.shape));
  }
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::uint8, Shape{height, width, image.shape[2]}));
  return out;
}

void CenterCrop::operator()(Sample& sample) const {
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  if (picture.height < height || picture.width < width) {
    throw DataError(too_small(*this, from.shape()));
  }
  if (picture.height == height && picture.width == width) return;
  const Shape shape{height, width, picture.channels};
  std::uint8_t* to = sample.make(field, DType::uint8, shape).data<std::uint8_t>();
  const std::int64_t row = width * picture.channels;
  const std::uint8_t* first = picture.data + (margin(picture.height, height) * picture.width +
                                              margin(picture.width, width)) *
                                                 picture.channels;
  for (std::int64_t y = 0; y < height; ++y) {
    std::memcpy(to + y * row, first + y * picture.width * picture.channels,
                static_cast<std::size_t>(row));
  }
}

}  // namespace headrace::inline v1
