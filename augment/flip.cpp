#include <headrace/augment/detail/mirror.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/flip.h>
#include <headrace/engine/base/error.h>

#include <cstring>

namespace headrace::inline v1 {

Schema HorizontalFlip::schema(const Schema& in) const {
  detail::check_probability(p, name());
  detail::masked_field(in, field, masks, name());
  if (mark.empty()) return in;
  if (!masks.empty() || in.find(mark) != nullptr) {
    throw ConfigError("[flip] mark must be the name of a new field, and no masks go along, got \"" +
                      mark + "\" and " + std::to_string(masks.size()) +
                      " mask(s); leave the mark out to mirror at once");
  }
  Schema out = in;
  out.put(FieldSpec::fixed(mark, DType::uint8, Shape{}));
  return out;
}

void HorizontalFlip::operator()(Sample& sample, Random& random) const {
  const bool flipped = random.chance(p);
  if (!mark.empty()) {
    sample.set_scalar(mark, static_cast<std::uint8_t>(flipped ? 1 : 0));
    return;
  }
  if (!flipped) return;
  const detail::Picture picture = detail::picture_of(sample[field], field);
  detail::move_pixels(sample, field, masks, picture.height, picture.width,
                      [](const detail::Raster& from, std::uint8_t* to) {
                        detail::mirror_rows(from.data, to, from.height, from.width,
                                            from.pixel_bytes);
                      });
}

Schema VerticalFlip::schema(const Schema& in) const {
  detail::check_probability(p, name());
  detail::masked_field(in, field, masks, name());
  return in;
}

void VerticalFlip::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  const detail::Picture picture = detail::picture_of(sample[field], field);
  detail::move_pixels(sample, field, masks, picture.height, picture.width,
                      [](const detail::Raster& from, std::uint8_t* to) {
                        const std::int64_t row = from.row_bytes();
                        for (std::int64_t y = from.height; y-- > 0; to += row)
                          std::memcpy(to, from.data + y * row, static_cast<std::size_t>(row));
                      });
}

}  // namespace headrace::inline v1
