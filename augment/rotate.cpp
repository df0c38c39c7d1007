#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/warp.h>
#include <headrace/augment/rotate.h>
#include <headrace/engine/base/error.h>

namespace headrace::inline v1 {

Schema Rotate::schema(const Schema& in) const {
  if (!(degrees >= 0 && degrees <= 360)) {
    throw ConfigError("[rotate] degrees must be 0 to 360, got " + std::to_string(degrees));
  }
  detail::masked_field(in, field, masks, name());
  return in;
}

void Rotate::operator()(Sample& sample, Random& random) const {
  turn(sample, random.uniform(-degrees, degrees));
}

void Rotate::turn(Sample& sample, double angle) const {
  if (angle == 0.0) return;
  detail::warp(sample, field, masks, detail::map_of({.angle = -angle}),
               {.interpolation = interpolation, .fill = fill, .mask_fill = mask_fill});
}

}  // namespace headrace::inline v1
