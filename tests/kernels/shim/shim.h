#pragma once

// Forced into every .cu that the tests compile for the host: what nvcc knows by itself. CUDA's own
// headers give half and bfloat16. A function that is missing here breaks the build.
#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace headrace::test::kernels {

const uint3& thread_index();
const uint3& block_index();
const dim3& block_size();
const dim3& grid_size();
/// Wait for the living lanes of the mask, and for the living threads of the block.
void sync_warp(unsigned mask);
void sync_block();
/// The value that a lane of the mask gives.
std::uint64_t shuffle(unsigned mask, std::uint64_t value, int lane);

}  // namespace headrace::test::kernels

// NOLINTBEGIN(bugprone-reserved-identifier): they are CUDA's names
#define threadIdx (::headrace::test::kernels::thread_index())
#define blockIdx (::headrace::test::kernels::block_index())
#define blockDim (::headrace::test::kernels::block_size())
#define gridDim (::headrace::test::kernels::grid_size())
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__ _Pragma("GCC error \"shared memory comes from block_memory<T>()\"")

inline void __syncwarp(unsigned mask = 0xffffffffU) {
  headrace::test::kernels::sync_warp(mask);
}
inline void __syncthreads() {
  headrace::test::kernels::sync_block();
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = headrace::test::kernels::shuffle(mask, bits, lane % 32);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
inline float __fadd_rn(float a, float b) {
  return a + b;  // compiled with -ffp-contract=off
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift % 32));
}
/// Bytes of y:x picked by the four nibbles of the selector, the lowest first.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned picked = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> 4 * i & 0xfU;
    unsigned byte = static_cast<unsigned>(bytes >> 8 * (nibble & 7U)) & 0xffU;
    if ((nibble & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0;
    picked |= byte << 8 * i;
  }
  return picked;
}
// NOLINTEND(bugprone-reserved-identifier)
