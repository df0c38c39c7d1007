#include <headrace/augment/flip.h>

#include <algorithm>

#include <headrace/augment/detail/picture.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1 {
namespace {

template <int kChannels>
void mirror_row(const std::uint8_t* from, std::uint8_t* to, std::int64_t width,
                std::int64_t channels) {
  const std::int64_t count = kChannels > 0 ? kChannels : channels;
  from += (width - 1) * count;
  for (std::int64_t x = 0; x < width; ++x, from -= count, to += count) {
    for (std::int64_t c = 0; c < count; ++c)
      to[c] = from[c];
  }
}

}  // namespace

Schema HorizontalFlip::schema(const Schema& in) const {
  if (!(p >= 0 && p <= 1)) {
    throw ConfigError("[flip] p must be a probability, got " + std::to_string(p));
  }
  detail::picture_field(in, field, name());
  return in;
}

void HorizontalFlip::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  std::uint8_t* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  const std::int64_t row = picture.width * picture.channels;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    if (picture.channels == 3) {
      mirror_row<3>(picture.data + y * row, to + y * row, picture.width, 3);
    } else {
      mirror_row<0>(picture.data + y * row, to + y * row, picture.width, picture.channels);
    }
  }
}

}  // namespace headrace::inline v1
