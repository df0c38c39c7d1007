#include <headrace/augment/affine.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/detail/warp.h>
#include <headrace/engine/base/error.h>

#include <cmath>

namespace headrace::inline v1 {
namespace {

using Range = std::array<double, 2>;

void check_affine_range(const char* what, const Range& range, double least, double most) {
  if (range[0] >= least && range[0] <= range[1] && range[1] <= most) return;
  throw ConfigError("[affine] " + std::string(what) + " must be least <= most within " +
                    std::to_string(least) + " to " + std::to_string(most) + ", got " +
                    std::to_string(range[0]) + ", " + std::to_string(range[1]));
}

double drawn(const Range& range, Random& random) {
  return range[0] + (range[1] - range[0]) * random.uniform();
}

double move(double share, std::int64_t side, Random& random) {
  const double most = share * static_cast<double>(side);
  return std::nearbyint(-most + 2 * most * random.uniform());
}

double tangent(double degrees) {
  const detail::SineCosine of = detail::sine_cosine(degrees);
  return of.sine / of.cosine;
}

}  // namespace

Schema Affine::schema(const Schema& in) const {
  check_affine_range("degrees", degrees, -360, 360);
  check_affine_range("scale", scale, 0.01, 100);
  check_affine_range("shear_x", shear_x, -80, 80);
  check_affine_range("shear_y", shear_y, -80, 80);
  check_affine_range("the first of translate", {0, translate[0]}, 0, 1);
  check_affine_range("the second of translate", {0, translate[1]}, 0, 1);
  detail::check_probability(p, name());
  detail::masked_field(in, field, masks, name());
  return in;
}

void Affine::operator()(Sample& sample, Random& random) const {
  if (p < 1.0 && !random.chance(p)) return;
  const detail::Picture picture = detail::picture_of(sample[field], field);
  Parts parts{.angle = drawn(degrees, random)};
  parts.move_x = move(translate[0], picture.width, random);
  parts.move_y = move(translate[1], picture.height, random);
  parts.scale = drawn(scale, random);
  parts.shear_x = drawn(shear_x, random);
  parts.shear_y = drawn(shear_y, random);
  apply(sample, parts);
}

void Affine::apply(Sample& sample, const Parts& parts) const {
  detail::warp(sample, field, masks,
               detail::map_of({.angle = parts.angle,
                               .move_x = parts.move_x,
                               .move_y = parts.move_y,
                               .scale = parts.scale,
                               .tan_shear_x = tangent(parts.shear_x),
                               .tan_shear_y = tangent(parts.shear_y)}),
               {.interpolation = interpolation, .fill = fill, .mask_fill = mask_fill});
}

}  // namespace headrace::inline v1
