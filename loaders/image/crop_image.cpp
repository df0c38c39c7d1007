#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop_image.h>
#include <headrace/loaders/image/detail/label_sampler.h>

#include <cstdint>
#include <type_traits>

namespace headrace::inline v1 {
namespace {

struct Axes {
  ResizeAxis x;
  ResizeAxis y;
};

void find_nearest(const ResizeAxis& axis, std::vector<int>& pixels) {
  pixels.clear();
  for (int i = 0; i < axis.out; ++i) {
    const int from = axis.reversed ? axis.out - 1 - i : i;
    pixels.push_back(
        detail::nearest_pixel(axis.start, axis.length, axis.first, axis.last, from, axis.out));
  }
}

void crop_mask(Sample& sample, const std::string& name, const Shape& picture, const Axes& axes) {
  const Tensor labels = mask_of(sample, name, picture[0], picture[1]);
  Tensor& to = sample.make(name, labels.dtype(), Shape{axes.y.out, axes.x.out});
  static thread_local std::vector<int> across;
  static thread_local std::vector<int> down;
  find_nearest(axes.x, across);
  find_nearest(axes.y, down);
  visit_labels(labels, [&](const auto* stored) {
    auto* out = static_cast<std::remove_cvref_t<decltype(*stored)>*>(to.raw());
    for (const int y : down) {
      for (const int x : across)
        *out++ = stored[y * picture[1] + x];
    }
  });
}

}  // namespace

Schema CropImage::schema(const Schema& in) const {
  check(crop, name());
  if (!(flip >= 0.0F && flip <= 1.0F)) {
    throw ConfigError("[crop] flip must be a probability, got " + std::to_string(flip));
  }
  const FieldSpec& image = in.at(field, name());
  if (image.dtype != DType::uint8 || image.shape.rank() != 3 || image.shape[2] < 1 ||
      image.kind == FieldSpec::Kind::ragged) {
    throw ConfigError("[crop] field \"" + field +
                      "\" must be uint8 [height, width, channels], got " + to_string(image) +
                      "; decode it first");
  }
  check_masks(in, image, masks, name());
  const auto [height, width] = size_of(crop);
  return with_sides(in, field, masks, height, width);
}

void CropImage::operator()(Sample& sample, Random& random) const {
  const Tensor from = sample[field];
  const Shape& shape = from.shape();
  const auto suits = [&](int axis) { return shape[axis] >= 1 && shape[axis] <= ImageLimits::side; };
  if (from.dtype() != DType::uint8 || shape.rank() != 3 || !suits(0) || !suits(1) || !suits(2)) {
    throw DataError("field \"" + field + "\" must be uint8 [height, width, channels] of at most " +
                    std::to_string(ImageLimits::side) + " a side, got " +
                    std::string(name_of(from.dtype())) + " " + to_string(shape));
  }
  const int rows = static_cast<int>(shape[0]);
  const int columns = static_cast<int>(shape[1]);
  const int channels = static_cast<int>(shape[2]);
  const ImageWindow window = place(crop, columns, rows, random);
  const bool flipped = random.chance(flip);
  const auto [height, width] = size_of(crop);
  const Region& in = window.bounds;
  const Axes axes{{window.x, window.width, in.x, in.x + in.width, width, flipped},
                  {window.y, window.height, in.y, in.y + in.height, height, false}};
  Tensor& to = sample.make(field, DType::uint8, Shape{height, width, shape[2]});
  resize_channels({from.data<std::uint8_t>(),
                   static_cast<std::size_t>(columns) * static_cast<std::size_t>(channels), 0, 0},
                  channels, axes.x, axes.y, resample, to.data<std::uint8_t>());
  for (const std::string& mask : masks)
    crop_mask(sample, mask, shape, axes);
}

}  // namespace headrace::inline v1
