#include <headrace/augment/affine.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/detail/warp.h>

#include <cmath>

namespace headrace::inline v1 {
namespace {

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
  detail::check_span(degrees, {-360, 360}, name(), "degrees");
  detail::check_span(scale, {0.01, 100}, name(), "scale");
  detail::check_span(shear_x, {-80, 80}, name(), "shear_x");
  detail::check_span(shear_y, {-80, 80}, name(), "shear_y");
  detail::check_span({0, translate[0]}, {0, 1}, name(), "the first of translate");
  detail::check_span({0, translate[1]}, {0, 1}, name(), "the second of translate");
  detail::check_probability(p, name());
  detail::masked_field(in, field, masks, name());
  return in;
}

void Affine::operator()(Sample& sample, Random& random) const {
  if (p < 1.0 && !random.chance(p)) return;
  const detail::Picture picture = detail::picture_of(sample[field], field);
  Parts parts{.angle = detail::draw_uniform(degrees, random)};
  parts.move_x = move(translate[0], picture.width, random);
  parts.move_y = move(translate[1], picture.height, random);
  parts.scale = detail::draw_uniform(scale, random);
  parts.shear_x = detail::draw_uniform(shear_x, random);
  parts.shear_y = detail::draw_uniform(shear_y, random);
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
