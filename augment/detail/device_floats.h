#pragma once

// Device code: values of any float field as float and back, rounded to nearest with ties to even.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace headrace::inline v1::detail {

__device__ inline float value_of(float from) {
  return from;
}
__device__ inline float value_of(__half from) {
  return __half2float(from);
}
__device__ inline float value_of(__nv_bfloat16 from) {
  return __bfloat162float(from);
}

__device__ inline void store(float value, float* to) {
  *to = value;
}
__device__ inline void store(float value, __half* to) {
  *to = __float2half_rn(value);
}
__device__ inline void store(float value, __nv_bfloat16* to) {
  *to = __float2bfloat16_rn(value);
}

}  // namespace headrace::inline v1::detail
