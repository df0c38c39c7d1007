// Once for every vector target, as Highway's own headers are.
#if defined(HEADRACE_VOXEL_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_VOXEL_MATH
#undef HEADRACE_VOXEL_MATH
#else
#define HEADRACE_VOXEL_MATH
#endif

#include <cstdint>

#include <hwy/highway.h>

// Functions of float vectors from sums, products, quotients and roots alone, each rounded apart, so
// that every vector width gives the same bits. Polynomials are those of the Cephes library
// (S. Moshier), for single precision.

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using W = hn::Rebind<std::uint32_t, F>;
using Values = hn::Vec<F>;
using Words = hn::Vec<W>;

HWY_INLINE Values constant(float value) {
  return hn::Set(F(), value);
}

/// x * y + z, rounded twice.
HWY_INLINE Values times_plus(Values x, Values y, Values z) {
  return hn::Add(hn::Mul(x, y), z);
}

struct Logarithm {
  Values exponent;  ///< a whole number
  Values rest;      ///< log2 of what is left, within -0.5 to 0.5
};

/// log2 of normal positive values, in two parts; the rest within 1e-7.
HWY_INLINE Logarithm logarithm2(Values x) {
  const I di;
  const auto bits = hn::BitCast(di, x);
  // From the square root of 1/2 on the mantissa belongs to the next exponent.
  const auto moved = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto exponent = hn::ShiftRight<23>(moved);
  const Values f =
      hn::Sub(hn::BitCast(F(), hn::Sub(bits, hn::ShiftLeft<23>(exponent))), constant(1.0F));
  Values p = constant(7.0376836292E-2F);
  p = times_plus(p, f, constant(-1.1514610310E-1F));
  p = times_plus(p, f, constant(1.1676998740E-1F));
  p = times_plus(p, f, constant(-1.2420140846E-1F));
  p = times_plus(p, f, constant(1.4249322787E-1F));
  p = times_plus(p, f, constant(-1.6668057665E-1F));
  p = times_plus(p, f, constant(2.0000714765E-1F));
  p = times_plus(p, f, constant(-2.4999993993E-1F));
  p = times_plus(p, f, constant(3.3333331174E-1F));
  const Values z = hn::Mul(f, f);
  const Values bend = times_plus(hn::Mul(f, z), p, hn::Mul(z, constant(-0.5F)));
  return {hn::ConvertTo(F(), exponent), hn::Mul(hn::Add(f, bend), constant(1.44269504089F))};
}

/// t^g for 0 <= t <= 1, within 1e-6 of itself; 0 for t and results below 2^-126. `high` has so few
/// bits that its product with an exponent is exact, and g = high + low.
HWY_INLINE Values power(Values t, Values g, Values high, Values low) {
  const Values least = constant(0x1p-126F);
  const Logarithm log = logarithm2(hn::Max(t, least));
  const Values large = hn::Mul(high, log.exponent);
  const Values whole = hn::Round(large);
  const Values small = times_plus(g, log.rest, hn::Mul(low, log.exponent));
  Values r = hn::Add(hn::Sub(large, whole), small);
  const Values more = hn::Round(r);
  r = hn::Sub(r, more);
  Values p = constant(1.535336188319500E-4F);
  p = times_plus(p, r, constant(1.339887440266574E-3F));
  p = times_plus(p, r, constant(9.618437357674640E-3F));
  p = times_plus(p, r, constant(5.550332471162809E-2F));
  p = times_plus(p, r, constant(2.402264791363012E-1F));
  p = times_plus(p, r, constant(6.931472028550421E-1F));
  p = times_plus(p, r, constant(1.0F));
  const Values exponent = hn::Add(whole, more);
  const I di;
  const auto shift = hn::ShiftLeft<23>(hn::ConvertTo(di, hn::Max(exponent, constant(-126.0F))));
  const Values value = hn::BitCast(F(), hn::Add(hn::BitCast(di, p), shift));
  const auto nothing = hn::Or(hn::Lt(t, least), hn::Lt(exponent, constant(-126.0F)));
  return hn::IfThenElse(nothing, hn::Zero(F()), value);
}

struct NormalPair {
  Values cosine;
  Values sine;
};

/// Two normal values from two words (Box-Muller); none is beyond 5.9.
HWY_INLINE NormalPair normal_pair(Words radius, Words angle) {
  const I di;
  const F d;
  const auto upper = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(radius)));
  const Logarithm log = logarithm2(hn::Mul(hn::Add(upper, constant(0.5F)), constant(0x1p-24F)));
  const Values square = hn::Mul(hn::Add(log.exponent, log.rest), constant(-1.38629436112F));
  const Values r = hn::Sqrt(hn::Max(square, hn::Zero(d)));
  // The upper two bits are the quarter, the rest is an angle within +-45 degrees of its middle.
  const auto part = hn::BitCast(di, hn::And(angle, hn::Set(W(), 0x3fffffffU)));
  const Values x = hn::Mul(hn::ConvertTo(d, hn::Sub(part, hn::Set(di, 0x20000000))),
                           constant(1.57079632679F * 0x1p-30F));
  const Values z = hn::Mul(x, x);
  Values s = times_plus(z, constant(-1.9515295891E-4F), constant(8.3321608736E-3F));
  s = times_plus(z, s, constant(-1.6666654611E-1F));
  s = times_plus(hn::Mul(z, x), s, x);
  Values c = times_plus(z, constant(2.443315711809948E-5F), constant(-1.388731625493765E-3F));
  c = times_plus(z, c, constant(4.166664568298827E-2F));
  c = times_plus(hn::Mul(z, z), c, times_plus(z, constant(-0.5F), constant(1.0F)));
  const auto odd = hn::RebindMask(d, hn::TestBit(angle, hn::Set(W(), 0x40000000U)));
  const Words sign = hn::And(angle, hn::Set(W(), 0x80000000U));
  const Words turned = hn::And(hn::ShiftLeft<1>(angle), hn::Set(W(), 0x80000000U));
  const Values first = hn::IfThenElse(odd, s, c);
  const Values second = hn::IfThenElse(odd, c, s);
  return {hn::Mul(r, hn::Xor(first, hn::BitCast(d, hn::Xor(sign, turned)))),
          hn::Mul(r, hn::Xor(second, hn::BitCast(d, sign)))};
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
