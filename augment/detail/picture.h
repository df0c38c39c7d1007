#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/mask.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

/// A decoded picture, uint8 [height, width, channels].
struct Picture {
  const std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t row_bytes() const { return width * channels; }
  std::int64_t pixels() const { return height * width; }
  std::int64_t bytes() const { return pixels() * channels; }
};

/// The field as a picture; throws ConfigError naming `who` where it is none.
const FieldSpec& picture_field(const Schema& in, std::string_view field, const std::string& who);

/// As picture_field(), with 1 or 3 channels: what operations on colours know.
const FieldSpec& colour_field(const Schema& in, std::string_view field, const std::string& who);

/// As picture_field(), and its masks; throws ConfigError naming `who` where they are none.
const FieldSpec& masked_field(const Schema& in, std::string_view field,
                              std::span<const std::string> masks, const std::string& who);

/// The tensor as a picture; throws DataError where it is none.
Picture picture_of(const Tensor& tensor, const std::string& field);

/// As picture_of(); throws DataError where it has neither 1 nor 3 channels.
Picture colours_of(const Tensor& tensor, const std::string& field);

/// The row or column that stands for number i: beyond an edge as in a mirror, the edge but once.
inline std::int64_t reflected(std::int64_t i, std::int64_t size) {
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

/// Pixels of some bytes each, whatever they hold: a picture or a mask.
struct Raster {
  const std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t pixel_bytes = 0;

  std::int64_t row_bytes() const { return width * pixel_bytes; }
};

/// Calls `move(raster, to)` for the picture and then for each of its masks, `to` being memory for
/// the field anew with height x width pixels. Throws DataError for what is no picture or no mask.
template <class Move>
void move_pixels(Sample& sample, const std::string& field, std::span<const std::string> masks,
                 std::int64_t height, std::int64_t width, const Move& move) {
  const Tensor from = sample[field];
  const Picture picture = picture_of(from, field);
  const Tensor to = sample.make(field, DType::uint8, Shape{height, width, picture.channels});
  move(Raster{picture.data, picture.height, picture.width, picture.channels},
       to.data<std::uint8_t>());
  for (const std::string& name : masks) {
    const Tensor mask = mask_of(sample, name, picture.height, picture.width);
    const Tensor moved = sample.make(name, mask.dtype(), Shape{height, width});
    move(Raster{static_cast<const std::uint8_t*>(mask.raw()), picture.height, picture.width,
                static_cast<std::int64_t>(size_of(mask.dtype()))},
         static_cast<std::uint8_t*>(moved.raw()));
  }
}

/// Throws ConfigError naming `who` unless p is a probability.
void check_probability(double p, const std::string& who, const char* name = "p");

/// Throws ConfigError naming `who` unless low <= high within [least, most].
void check_span(const std::array<double, 2>& range, const std::array<double, 2>& limits,
                const std::string& who, const char* name);

/// Uniform in the range.
double draw_uniform(const std::array<double, 2>& range, Random& random);

}  // namespace headrace::inline v1::detail
