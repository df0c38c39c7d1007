#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/detail/warp.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/mask.h>

#include <cmath>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

constexpr int fraction_bits = 31;  // of a coordinate in pixels
constexpr int weight_bits = 11;    // of a bilinear weight along one axis
constexpr std::int64_t one = std::int64_t{1} << fraction_bits;

/// A place in the source, 31 fraction bits, pixel centres at whole numbers.
struct Place {
  std::int64_t x;
  std::int64_t y;
};

/// The map in fixed point: coefficients have 30 bits, places come in half pixels from the centre.
struct FixedMap {
  std::int64_t xx, xy, yx, yy;
  Place centre;

  FixedMap(const AffineMap& map, std::int64_t width, std::int64_t height)
      : xx(fixed(map.xx, 30)),
        xy(fixed(map.xy, 30)),
        yx(fixed(map.yx, 30)),
        yy(fixed(map.yy, 30)),
        centre{(width - 1) * (one / 2) + fixed(map.x0, fraction_bits),
               (height - 1) * (one / 2) + fixed(map.y0, fraction_bits)} {}

  static std::int64_t fixed(double v, int bits) {
    return static_cast<std::int64_t>(std::nearbyint(std::ldexp(v, bits)));
  }
};

template <class Label>
struct Nearest {
  const Label* data;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  Label fill;

  void operator()(Place at, Label* to) const {
    const std::int64_t x = (at.x + one / 2) >> fraction_bits;
    const std::int64_t y = (at.y + one / 2) >> fraction_bits;
    const bool inside = x >= 0 && y >= 0 && x < width && y < height;
    const Label* from = data + (inside ? (y * width + x) * channels : 0);
    for (std::int64_t c = 0; c < channels; ++c)
      to[c] = inside ? from[c] : fill;
  }
};

struct Bilinear {
  const Picture& picture;
  const WarpRule& rule;

  void operator()(Place at, std::uint8_t* to) const {
    const std::int64_t left = at.x >> fraction_bits;
    const std::int64_t top = at.y >> fraction_bits;
    const auto right =
        static_cast<std::uint32_t>((at.x & (one - 1)) >> (fraction_bits - weight_bits));
    const auto low =
        static_cast<std::uint32_t>((at.y & (one - 1)) >> (fraction_bits - weight_bits));
    if (left >= 0 && top >= 0 && left + 1 < picture.width && top + 1 < picture.height) {
      between(picture.data + (top * picture.width + left) * picture.channels, right, low, to);
    } else {
      at_border(left, top, right, low, to);
    }
  }

 private:
  static constexpr std::uint32_t full = 1U << weight_bits;
  static constexpr int bits = 2 * weight_bits;

  void between(const std::uint8_t* from, std::uint32_t right, std::uint32_t low,
               std::uint8_t* to) const {
    const std::int64_t across = picture.channels;
    const std::uint8_t* below = from + picture.row_bytes();
    for (std::int64_t c = 0; c < across; ++c) {
      const std::uint32_t upper = from[c] * (full - right) + from[c + across] * right;
      const std::uint32_t lower = below[c] * (full - right) + below[c + across] * right;
      const std::uint32_t sum = upper * (full - low) + lower * low;
      to[c] = static_cast<std::uint8_t>((sum + (1U << (bits - 1))) >> bits);
    }
  }

  void at_border(std::int64_t left, std::int64_t top, std::uint32_t right, std::uint32_t low,
                 std::uint8_t* to) const {
    std::int64_t weights[4];
    const std::uint8_t* from[4];
    std::int64_t inside = 0;
    for (int k = 0; k < 4; ++k) {
      const std::int64_t x = left + (k & 1);
      const std::int64_t y = top + (k >> 1);
      const bool in = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
      const std::int64_t across = (k & 1) != 0 ? right : full - right;
      const std::int64_t down = (k >> 1) != 0 ? low : full - low;
      weights[k] = in ? across * down : 0;
      inside += weights[k];
      from[k] = picture.data + (in ? (y * picture.width + x) * picture.channels : 0);
    }
    constexpr std::int64_t whole = std::int64_t{1} << bits;
    for (std::int64_t c = 0; c < picture.channels; ++c) {
      std::int64_t sum = 0;
      for (int k = 0; k < 4; ++k)
        sum += weights[k] * from[k][c];
      // torchvision: the sum, outside counted as zero, and the fill, by the share that lies inside.
      const std::int64_t mixed =
          rule.blend_fill ? inside * sum + (whole - inside) * (std::int64_t{rule.fill} << bits)
                          : whole * sum;
      to[c] = static_cast<std::uint8_t>((mixed + (whole << (bits - 1))) >> (2 * bits));
    }
  }
};

template <class Value, class Pick>
void visit(const FixedMap& map, std::int64_t height, std::int64_t width, std::int64_t channels,
           Value* to, const Pick& pick) {
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t dy = 2 * y + 1 - height;
    const std::int64_t dx = 1 - width;
    Place at{map.xx * dx + map.xy * dy + map.centre.x, map.yx * dx + map.yy * dy + map.centre.y};
    for (std::int64_t x = 0; x < width; ++x, to += channels) {
      pick(at, to);
      at.x += 2 * map.xx;
      at.y += 2 * map.yx;
    }
  }
}

template <class Label>
void warp_mask(Sample& sample, const std::string& name, const Tensor& mask, const FixedMap& map,
               std::uint16_t fill) {
  const Shape shape = mask.shape();
  Label* to = sample.make(name, dtype_of<Label>, shape).template data<Label>();
  const Nearest<Label> pick{mask.data<Label>(), shape[0], shape[1], 1, static_cast<Label>(fill)};
  visit(map, shape[0], shape[1], 1, to, pick);
}

}  // namespace

AffineMap map_of(const AffineParts& parts) {
  const SineCosine turn = sine_cosine(parts.angle);
  // cos(angle - shear) / cos(shear) and sin(angle - shear) / cos(shear)
  const double a = turn.cosine + turn.sine * parts.tan_shear_y;
  const double c = turn.sine - turn.cosine * parts.tan_shear_y;
  const double b = -(a * parts.tan_shear_x + turn.sine);
  const double d = turn.cosine - c * parts.tan_shear_x;
  AffineMap map{
      .xx = d / parts.scale, .xy = -b / parts.scale, .yx = -c / parts.scale, .yy = a / parts.scale};
  const double x = parts.centre_x + parts.move_x;
  const double y = parts.centre_y + parts.move_y;
  map.x0 = parts.centre_x - map.xx * x - map.xy * y;
  map.y0 = parts.centre_y - map.yx * x - map.yy * y;
  return map;
}

void warp(Sample& sample, const std::string& field, std::span<const std::string> masks,
          const AffineMap& map, const WarpRule& rule) {
  const Tensor from = sample[field];
  const Picture picture = picture_of(from, field);
  if (picture.height >= 1 << 17 || picture.width >= 1 << 17) {
    throw DataError("sides must be below 131072 to be turned or sheared, got " +
                    to_string(from.shape()));
  }
  const FixedMap fixed(map, picture.width, picture.height);
  auto* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  if (rule.interpolation == Interpolation::bilinear) {
    visit(fixed, picture.height, picture.width, picture.channels, to, Bilinear{picture, rule});
  } else {
    const Nearest<std::uint8_t> pick{picture.data, picture.height, picture.width, picture.channels,
                                     rule.fill};
    visit(fixed, picture.height, picture.width, picture.channels, to, pick);
  }
  for (const std::string& name : masks) {
    const Tensor mask = mask_of(sample, name, picture.height, picture.width);
    if (mask.dtype() == DType::uint8) {
      warp_mask<std::uint8_t>(sample, name, mask, fixed, rule.mask_fill);
    } else {
      warp_mask<std::uint16_t>(sample, name, mask, fixed, rule.mask_fill);
    }
  }
}

}  // namespace headrace::inline v1::detail
