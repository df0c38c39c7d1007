#pragma once

#include <cmath>
#include <cstdint>

// For kernels alone: the functions of voxel_math.h for one value, to the bit, products and sums
// rounded apart.

namespace headrace::inline v1::detail {

__device__ inline float times_plus(float x, float y, float z) {
  return __fadd_rn(__fmul_rn(x, y), z);
}

/// As a vector unit chooses: of equal ones the second.
__device__ inline float larger(float a, float b) {
  return a > b ? a : b;
}
__device__ inline float smaller(float a, float b) {
  return a < b ? a : b;
}

struct Logarithm {
  float exponent;
  float rest;
};

__device__ inline Logarithm logarithm2(float x) {
  const int bits = __float_as_int(x);
  const int exponent = (bits - 0x3f3504f3) >> 23;
  const float f = __fsub_rn(__int_as_float(bits - (exponent << 23)), 1.0F);
  float p = 7.0376836292E-2F;
  p = times_plus(p, f, -1.1514610310E-1F);
  p = times_plus(p, f, 1.1676998740E-1F);
  p = times_plus(p, f, -1.2420140846E-1F);
  p = times_plus(p, f, 1.4249322787E-1F);
  p = times_plus(p, f, -1.6668057665E-1F);
  p = times_plus(p, f, 2.0000714765E-1F);
  p = times_plus(p, f, -2.4999993993E-1F);
  p = times_plus(p, f, 3.3333331174E-1F);
  const float z = __fmul_rn(f, f);
  const float bend = times_plus(__fmul_rn(f, z), p, __fmul_rn(z, -0.5F));
  return {static_cast<float>(exponent), __fmul_rn(__fadd_rn(f, bend), 1.44269504089F)};
}

__device__ inline float power(float t, float g, float high, float low) {
  constexpr float least = 0x1p-126F;
  const Logarithm log = logarithm2(larger(t, least));
  const float large = __fmul_rn(high, log.exponent);
  const float whole = rintf(large);
  const float small = times_plus(g, log.rest, __fmul_rn(low, log.exponent));
  float r = __fadd_rn(__fsub_rn(large, whole), small);
  const float more = rintf(r);
  r = __fsub_rn(r, more);
  float p = 1.535336188319500E-4F;
  p = times_plus(p, r, 1.339887440266574E-3F);
  p = times_plus(p, r, 9.618437357674640E-3F);
  p = times_plus(p, r, 5.550332471162809E-2F);
  p = times_plus(p, r, 2.402264791363012E-1F);
  p = times_plus(p, r, 6.931472028550421E-1F);
  p = times_plus(p, r, 1.0F);
  const float exponent = __fadd_rn(whole, more);
  // Wraps, as the host's lanes do: a base above 1 may raise past the largest exponent.
  const std::uint32_t shift =
      static_cast<std::uint32_t>(static_cast<int>(larger(exponent, -126.0F))) << 23;
  const float value =
      __int_as_float(static_cast<int>(static_cast<std::uint32_t>(__float_as_int(p)) + shift));
  return t < least || exponent < -126.0F ? 0.0F : value;
}

struct NormalPair {
  float cosine;
  float sine;
};

__device__ inline float with_sign(float value, std::uint32_t sign) {
  return __int_as_float(__float_as_int(value) ^ static_cast<int>(sign));
}

__device__ inline NormalPair normal_pair(std::uint32_t radius, std::uint32_t angle) {
  const float upper = static_cast<float>(static_cast<int>(radius >> 8));
  const Logarithm log = logarithm2(__fmul_rn(__fadd_rn(upper, 0.5F), 0x1p-24F));
  const float square = __fmul_rn(__fadd_rn(log.exponent, log.rest), -1.38629436112F);
  const float r = __fsqrt_rn(larger(square, 0.0F));
  const int part = static_cast<int>(angle & 0x3fffffffU) - 0x20000000;
  const float x = __fmul_rn(static_cast<float>(part), 1.57079632679F * 0x1p-30F);
  const float z = __fmul_rn(x, x);
  float s = times_plus(z, -1.9515295891E-4F, 8.3321608736E-3F);
  s = times_plus(z, s, -1.6666654611E-1F);
  s = times_plus(__fmul_rn(z, x), s, x);
  float c = times_plus(z, 2.443315711809948E-5F, -1.388731625493765E-3F);
  c = times_plus(z, c, 4.166664568298827E-2F);
  c = times_plus(__fmul_rn(z, z), c, times_plus(z, -0.5F, 1.0F));
  const bool odd = (angle & 0x40000000U) != 0;
  const std::uint32_t sign = angle & 0x80000000U;
  const std::uint32_t turned = angle << 1 & 0x80000000U;
  return {__fmul_rn(r, with_sign(odd ? s : c, sign ^ turned)),
          __fmul_rn(r, with_sign(odd ? c : s, sign))};
}

__device__ inline std::uint32_t product(std::uint32_t a, std::uint32_t b, std::uint32_t& high) {
  const std::uint64_t both = std::uint64_t{a} * b;
  high = static_cast<std::uint32_t>(both >> 32);
  return static_cast<std::uint32_t>(both);
}

/// Philox 4x32-10 of counter (c[0], c[1], 0, 0).
__device__ inline void philox(std::uint32_t k0, std::uint32_t k1, std::uint32_t* c) {
  c[2] = 0;
  c[3] = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    std::uint32_t high0;
    std::uint32_t high1;
    const std::uint32_t low0 = product(c[0], 0xD2511F53U, high0);
    const std::uint32_t low1 = product(c[2], 0xCD9E8D57U, high1);
    c[0] = high1 ^ c[1] ^ k0;
    c[2] = high0 ^ c[3] ^ k1;
    c[1] = low1;
    c[3] = low0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

}  // namespace headrace::inline v1::detail
