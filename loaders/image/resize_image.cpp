#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/label_sampler.h>
#include <headrace/loaders/image/resize_image.h>

#include <vector>

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
  check_masks(in, image, masks, name());
  return with_sides(in, field, masks, height, width);
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
  for (const std::string& mask : masks)
    resize_mask(sample, mask, shape);
}

void Resize::resize_mask(Sample& sample, const std::string& mask, const Shape& from) const {
  const Tensor labels = mask_of(sample, mask, from[0], from[1]);
  Tensor& to = sample.make(mask, labels.dtype(), Shape{height, width});
  const int rows = static_cast<int>(from[0]);
  const int columns = static_cast<int>(from[1]);
  static thread_local std::vector<int> across;
  across.resize(static_cast<std::size_t>(width));
  for (int x = 0; x < width; ++x)
    across[static_cast<std::size_t>(x)] = detail::nearest_pixel(0, columns, 0, columns, x, width);
  visit_labels(labels, [&](const auto* stored) {
    auto* out = static_cast<std::remove_cvref_t<decltype(*stored)>*>(to.raw());
    for (int y = 0; y < height; ++y) {
      const auto* row =
          stored + std::ptrdiff_t{columns} * detail::nearest_pixel(0, rows, 0, rows, y, height);
      for (int x : across)
        *out++ = row[x];
    }
  });
}

}  // namespace headrace::inline v1
