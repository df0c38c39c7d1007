#include <headrace/augment/detail/colour_steps.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/warp.h>
#include <headrace/augment/rand_augment.h>
#include <headrace/engine/base/error.h>

#include <cmath>

namespace headrace::inline v1 {
namespace {

using Op = RandAugment::Op;

bool has_sign(Op op) {
  return op >= Op::shear_x && op <= Op::sharpness;
}

bool moves_pixels(Op op) {
  return op >= Op::shear_x && op <= Op::rotate;
}

detail::AffineMap map_of(Op op, double strength, const detail::Picture& picture) {
  detail::AffineParts parts;
  if (op == Op::shear_x || op == Op::shear_y) {  // about the upper left corner
    parts.centre_x = -0.5 * static_cast<double>(picture.width);
    parts.centre_y = -0.5 * static_cast<double>(picture.height);
  }
  switch (op) {
    case Op::shear_x:
      parts.tan_shear_x = strength;
      break;
    case Op::shear_y:
      parts.tan_shear_y = strength;
      break;
    case Op::translate_x:
      parts.move_x = std::trunc(strength);
      break;
    case Op::translate_y:
      parts.move_y = std::trunc(strength);
      break;
    default:
      parts.angle = -strength;  // counter-clockwise
      break;
  }
  return detail::map_of(parts);
}

void change_colours(Op op, double strength, const detail::Picture& picture, std::uint8_t* to) {
  switch (op) {
    case Op::brightness:
      return detail::adjust_brightness(picture, to, 1.0 + strength);
    case Op::color:
      return detail::adjust_saturation(picture, to, 1.0 + strength);
    case Op::contrast:
      return detail::adjust_contrast(picture, to, 1.0 + strength);
    case Op::sharpness:
      return detail::adjust_sharpness(picture, to, 1.0 + strength);
    case Op::posterize:
      return detail::posterize(picture, to, static_cast<int>(strength));
    case Op::solarize:
      return detail::solarize(picture, to, 255.0 * strength);
    case Op::autocontrast:
      return detail::autocontrast(picture, to);
    default:
      return detail::equalize(picture, to);
  }
}

}  // namespace

Schema RandAugment::schema(const Schema& in) const {
  if (ops < 0 || bins < 2 || magnitude < 0 || magnitude >= bins) {
    throw ConfigError("[rand augment] ops must be 0 or more and magnitude 0 to bins - 1, got ops " +
                      std::to_string(ops) + ", magnitude " + std::to_string(magnitude) + ", bins " +
                      std::to_string(bins));
  }
  detail::colour_field(in, field, name());
  detail::masked_field(in, field, masks, name());
  return in;
}

void RandAugment::operator()(Sample& sample, Random& random) const {
  const detail::Picture picture = detail::colours_of(sample[field], field);
  for (int i = 0; i < ops; ++i) {
    const Op op = static_cast<Op>(random.below(op_count));
    const double sign = has_sign(op) && random.uniform() < 0.5 ? -1.0 : 1.0;
    apply(sample, op, sign * strength(op, picture.height, picture.width));
  }
}

double RandAugment::strength(Op op, std::int64_t height, std::int64_t width) const {
  const double share = static_cast<double>(magnitude) / (bins - 1);
  switch (op) {
    case Op::shear_x:
    case Op::shear_y:
      return 0.3 * share;
    case Op::translate_x:
      return 150.0 / 331.0 * static_cast<double>(width) * share;
    case Op::translate_y:
      return 150.0 / 331.0 * static_cast<double>(height) * share;
    case Op::rotate:
      return 30.0 * share;
    case Op::brightness:
    case Op::color:
    case Op::contrast:
    case Op::sharpness:
      return 0.9 * share;
    case Op::posterize:
      return 8.0 - std::nearbyint(4.0 * share);
    case Op::solarize:
      return 1.0 - share;
    default:
      return 0.0;
  }
}

void RandAugment::apply(Sample& sample, Op op, double strength) const {
  if (op == Op::identity) return;
  const Tensor from = sample[field];
  const detail::Picture picture = detail::colours_of(from, field);
  if (moves_pixels(op)) {
    return detail::warp(sample, field, masks, map_of(op, strength, picture),
                        {.interpolation = interpolation,
                         .fill = fill.value_or(0),
                         .mask_fill = mask_fill,
                         .blend_fill = fill.has_value()});
  }
  change_colours(op, strength, picture,
                 sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>());
}

}  // namespace headrace::inline v1
