#include <headrace/loaders/image/resize_image.h>

#include <headrace/engine/error.h>

namespace headrace::inline v1 {

Schema Resize::schema(const Schema& in) const {
  if (height < 1 || width < 1) {
    throw ConfigError("[resize] height and width must be positive, got " + std::to_string(height) +
                      " x " + std::to_string(width));
  }
  const FieldSpec& image = in.at(field, name());
  if (image.dtype != DType::uint8 || image.shape.rank() != 3 || image.shape[2] < 1) {
    throw ConfigError("[resize] field \"" + field +
                      "\" must be uint8 [height, width, channels], got " + to_string(image));
  }
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::uint8, Shape{height, width, image.shape[2]}));
  return out;
}

void Resize::operator()(Sample& sample) const {
  const Tensor from = sample[field];
  const Shape& shape = from.shape();
  if (shape.rank() != 3 || shape[0] < 1 || shape[1] < 1 || shape[2] < 1) {
    throw DataError("field \"" + field + "\" must be [height, width, channels], got " +
                    to_string(shape));
  }
  Tensor& to = sample.make(field, DType::uint8, Shape{height, width, shape[2]});
  const int rows = static_cast<int>(shape[0]);
  const int columns = static_cast<int>(shape[1]);
  const int channels = static_cast<int>(shape[2]);
  resize_channels({from.data<std::uint8_t>(), static_cast<std::size_t>(columns * channels), 0, 0},
                  channels, {0, double(columns), 0, columns, width, false},
                  {0, double(rows), 0, rows, height, false}, resample, to.data<std::uint8_t>());
}

}  // namespace headrace::inline v1
