#include <headrace/augment/detail/mirror.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/rotate90.h>
#include <headrace/engine/base/error.h>

#include <cstring>

namespace headrace::inline v1 {
namespace {

/// Row after row of the result, each a column of the source from `first` in steps of `step` bytes;
/// the next row's column is `next` bytes further. kBytes: of a pixel, 0: `from.pixel_bytes`.
template <std::size_t kBytes>
void read_columns(const detail::Raster& from, std::int64_t first, std::int64_t step,
                  std::int64_t next, std::uint8_t* to) {
  const std::size_t bytes = kBytes > 0 ? kBytes : static_cast<std::size_t>(from.pixel_bytes);
  for (std::int64_t row = 0; row < from.width; ++row) {
    const std::uint8_t* at = from.data + first + row * next;
    for (std::int64_t i = 0; i < from.height; ++i, at += step, to += bytes)
      std::memcpy(to, at, bytes);
  }
}

void quarter_turn(const detail::Raster& from, bool clockwise, std::uint8_t* to) {
  const std::int64_t right = from.row_bytes() - from.pixel_bytes;
  const std::int64_t bottom = (from.height - 1) * from.row_bytes();
  const std::int64_t first = clockwise ? bottom : right;
  const std::int64_t step = clockwise ? -from.row_bytes() : from.row_bytes();
  const std::int64_t next = clockwise ? from.pixel_bytes : -from.pixel_bytes;
  switch (from.pixel_bytes) {
    case 1:
      return read_columns<1>(from, first, step, next, to);
    case 2:
      return read_columns<2>(from, first, step, next, to);
    case 3:
      return read_columns<3>(from, first, step, next, to);
    default:
      return read_columns<0>(from, first, step, next, to);
  }
}

}  // namespace

Schema Rotate90::schema(const Schema& in) const {
  detail::check_probability(p, name());
  const FieldSpec& image = detail::masked_field(in, field, masks, name());
  if (image.shape[0] == image.shape[1]) return in;
  throw ConfigError("[rotate90] pictures must be square to be turned by 90 degrees, got " +
                    to_string(image) +
                    "; crop them to squares, or take flip and vertical_flip, which together turn "
                    "by 180");
}

void Rotate90::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  turn(sample, 1 + static_cast<int>(random.below(3)));
}

void Rotate90::turn(Sample& sample, int quarters) const {
  quarters = (quarters % 4 + 4) % 4;
  if (quarters == 0) return;
  const detail::Picture picture = detail::picture_of(sample[field], field);
  if (picture.height != picture.width) {
    throw DataError("pictures must be square to be turned by 90 degrees, got " +
                    to_string(sample[field].shape()));
  }
  detail::move_pixels(sample, field, masks, picture.height, picture.width,
                      [quarters](const detail::Raster& from, std::uint8_t* to) {
                        if (quarters != 2) return quarter_turn(from, quarters == 3, to);
                        detail::mirror_rows(from.data, to, 1, from.height * from.width,
                                            from.pixel_bytes);
                      });
}

}  // namespace headrace::inline v1
