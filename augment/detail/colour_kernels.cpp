// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/colour.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/detail/colour_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using U = hn::Rebind<std::uint8_t, F>;
using Values = hn::Vec<F>;

/// Pixels are worked on in blocks, their channels apart. The block is a multiple of every vector.
constexpr std::int64_t block = 256;

HWY_INLINE Values load(const std::uint8_t* from) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(U(), from)));
}

/// Held within 0 to 255, fraction dropped.
HWY_INLINE void store(Values v, std::uint8_t* to) {
  const F d;
  v = hn::Min(hn::Max(v, hn::Zero(d)), hn::Set(d, 255.0F));
  hn::StoreU(hn::DemoteTo(U(), hn::ConvertTo(I(), v)), U(), to);
}

struct Planes {
  alignas(64) std::uint8_t r[block];
  alignas(64) std::uint8_t g[block];
  alignas(64) std::uint8_t b[block];
};

void split(const std::uint8_t* rgb, std::int64_t count, Planes& planes) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> r, g, b;
    hn::LoadInterleaved3(d, rgb + 3 * i, r, g, b);
    hn::Store(r, d, planes.r + i);
    hn::Store(g, d, planes.g + i);
    hn::Store(b, d, planes.b + i);
  }
#endif
  for (; i < count; ++i) {
    planes.r[i] = rgb[3 * i];
    planes.g[i] = rgb[3 * i + 1];
    planes.b[i] = rgb[3 * i + 2];
  }
}

void join(const Planes& planes, std::int64_t count, std::uint8_t* rgb) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= count; i += lanes) {
    hn::StoreInterleaved3(hn::Load(d, planes.r + i), hn::Load(d, planes.g + i),
                          hn::Load(d, planes.b + i), d, rgb + 3 * i);
  }
#endif
  for (; i < count; ++i) {
    rgb[3 * i] = planes.r[i];
    rgb[3 * i + 1] = planes.g[i];
    rgb[3 * i + 2] = planes.b[i];
  }
}

/// change(r, g, b) on vectors of pixels, in place.
template <class Change>
HWY_INLINE void for_pixels(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels,
                           const Change& change) {
  Planes planes = {};
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  for (std::int64_t first = 0; first < pixels; first += block) {
    const std::int64_t count = std::min(block, pixels - first);
    split(from + 3 * first, count, planes);
    for (std::int64_t i = 0; i < count; i += lanes) {
      Values r = load(planes.r + i);
      Values g = load(planes.g + i);
      Values b = load(planes.b + i);
      change(r, g, b);
      store(r, planes.r + i);
      store(g, planes.g + i);
      store(b, planes.b + i);
    }
    join(planes, count, to + 3 * first);
  }
}

HWY_INLINE Values grey_of(Values r, Values g, Values b) {
  const F d;
  const Values red_green = hn::Add(hn::Mul(r, hn::Set(d, 0.2989F)), hn::Mul(g, hn::Set(d, 0.587F)));
  return hn::Floor(hn::Add(red_green, hn::Mul(b, hn::Set(d, 0.114F))));
}

void scale(const std::uint8_t* from, std::uint8_t* to, std::int64_t values, float gain,
           float bias) {
  const F d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto change = [&](const std::uint8_t* in, std::uint8_t* out) HWY_ATTR {
    store(hn::Add(hn::Mul(load(in), hn::Set(d, gain)), hn::Set(d, bias)), out);
  };
  std::int64_t i = 0;
  for (; i + lanes <= values; i += lanes)
    change(from + i, to + i);
  if (i >= values) return;
  alignas(64) std::uint8_t rest[block] = {};
  std::copy(from + i, from + values, rest);
  change(rest, rest);
  std::copy(rest, rest + (values - i), to + i);
}

void grey_sum(const std::uint8_t* rgb, std::int64_t pixels, std::int64_t* sum) {
  Planes planes;
  alignas(64) std::int32_t parts[block];
  const I d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t first = 0; first < pixels; first += block) {
    const std::int64_t count = std::min(block, pixels - first);
    planes = {};  // what lies behind the last pixel is black and adds nothing
    split(rgb + 3 * first, count, planes);
    auto total = hn::Zero(d);
    for (std::int64_t i = 0; i < count; i += lanes) {
      total = hn::Add(total, hn::ConvertTo(d, grey_of(load(planes.r + i), load(planes.g + i),
                                                      load(planes.b + i))));
    }
    hn::Store(total, d, parts);
    for (std::int64_t i = 0; i < lanes; ++i)
      *sum += parts[i];
  }
}

void saturation(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, double factor) {
  const F d;
  const Values own = hn::Set(d, static_cast<float>(factor));
  const Values other = hn::Set(d, static_cast<float>(1.0 - factor));
  for_pixels(from, to, pixels, [&](Values& r, Values& g, Values& b) HWY_ATTR {
    const Values grey = hn::Mul(grey_of(r, g, b), other);
    r = hn::Add(hn::Mul(r, own), grey);
    g = hn::Add(hn::Mul(g, own), grey);
    b = hn::Add(hn::Mul(b, own), grey);
  });
}

/// Hue in sixths of the circle is 0 to 6 from red over green and blue; of a grey pixel it is 0.
HWY_INLINE Values hue_of(Values r, Values g, Values b, Values most, Values range) {
  const F d;
  const Values one = hn::Set(d, 1.0F);
  const Values divisor = hn::IfThenElse(hn::Eq(range, hn::Zero(d)), one, range);
  const Values from_red = hn::Div(hn::Sub(most, r), divisor);
  const Values from_green = hn::Div(hn::Sub(most, g), divisor);
  const Values from_blue = hn::Div(hn::Sub(most, b), divisor);
  const Values red = hn::Sub(from_blue, from_green);
  const Values green = hn::Sub(hn::Add(from_red, hn::Set(d, 2.0F)), from_blue);
  const Values blue = hn::Sub(hn::Add(from_green, hn::Set(d, 4.0F)), from_red);
  const Values sixths =
      hn::IfThenElse(hn::Eq(most, r), red, hn::IfThenElse(hn::Eq(most, g), green, blue));
  const Values share = hn::Add(hn::Mul(sixths, hn::Set(d, static_cast<float>(1.0 / 6.0))), one);
  return hn::Sub(share, hn::Floor(share));
}

HWY_INLINE Values within_one(Values v) {
  const F d;
  return hn::Min(hn::Max(v, hn::Zero(d)), hn::Set(d, 1.0F));
}

void hue(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, float shift) {
  const F d;
  const Values zero = hn::Zero(d);
  const Values one = hn::Set(d, 1.0F);
  const Values turned = hn::Set(d, shift);
  for_pixels(from, to, pixels, [&](Values& r, Values& g, Values& b) HWY_ATTR {
    const Values unit = hn::Set(d, static_cast<float>(1.0 / 255.0));
    r = hn::Mul(r, unit);
    g = hn::Mul(g, unit);
    b = hn::Mul(b, unit);
    const Values most = hn::Max(hn::Max(r, g), b);
    const Values range = hn::Sub(most, hn::Min(hn::Min(r, g), b));
    const Values saturation = hn::Div(range, hn::IfThenElse(hn::Eq(range, zero), one, most));
    Values h = hn::Add(hue_of(r, g, b, most, range), turned);
    h = hn::Mul(hn::Sub(h, hn::Floor(h)), hn::Set(d, 6.0F));
    const Values sector = hn::Floor(h);
    const Values along = hn::Mul(saturation, hn::Sub(h, sector));
    const Values left = hn::Sub(one, saturation);
    const Values scale = hn::Set(d, 255.999F);
    const Values v = hn::Mul(most, scale);
    const Values p = hn::Mul(within_one(hn::Mul(left, most)), scale);
    const Values q = hn::Mul(within_one(hn::Mul(hn::Sub(one, along), most)), scale);
    const Values t = hn::Mul(within_one(hn::Mul(hn::Add(along, left), most)), scale);
    const auto in = [&](float k) HWY_ATTR { return hn::Eq(sector, hn::Set(d, k)); };
    // The sixth sector and a full turn after it are red again.
    r = hn::IfThenElse(in(1), q, hn::IfThenElse(hn::Or(in(2), in(3)), p, v));
    r = hn::IfThenElse(in(4), t, r);
    g = hn::IfThenElse(hn::Or(in(1), in(2)), v, hn::IfThenElse(in(3), q, t));
    g = hn::IfThenElse(hn::Or(in(4), in(5)), p, g);
    b = hn::IfThenElse(in(2), t, hn::IfThenElse(hn::Or(in(3), in(4)), v, p));
    b = hn::IfThenElse(in(5), q, b);
  });
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {

HWY_EXPORT(scale);
HWY_EXPORT(grey_sum);
HWY_EXPORT(saturation);
HWY_EXPORT(hue);

}  // namespace

bool scale_levels(const std::uint8_t* from, std::uint8_t* to, std::int64_t values, float gain,
                  float bias, int target) {
  HEADRACE_RUN(scale, from, to, values, gain, bias)
  return true;
}

std::int64_t sum_grey(const std::uint8_t* rgb, std::int64_t pixels, int target) {
  std::int64_t sum = 0;
  HEADRACE_RUN(grey_sum, rgb, pixels, &sum)
  return sum;
}

bool saturate(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, double factor,
              int target) {
  HEADRACE_RUN(saturation, from, to, pixels, factor)
  return true;
}

bool turn_hue(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, float shift,
              int target) {
  HEADRACE_RUN(hue, from, to, pixels, shift)
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
