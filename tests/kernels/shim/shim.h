#pragma once

// Forced into every .cu that the tests compile for the host: what nvcc knows by itself. CUDA's own
// headers give half and bfloat16. A function that is missing here breaks the build.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <cuda_runtime_api.h>

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

using std::max;
using std::min;

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
void __stwb(T* to, T value) {
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
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline float __fsqrt_rn(float a) {
  return std::sqrt(a);
}
inline double __dsqrt_rn(double a) {
  return std::sqrt(a);
}
inline int __float_as_int(float a) {
  return std::bit_cast<int>(a);
}
inline float __int_as_float(int a) {
  return std::bit_cast<float>(a);
}
inline int __clz(int value) {
  return std::countl_zero(static_cast<unsigned>(value));
}
// NOLINTEND(bugprone-reserved-identifier)
