#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <string>

#include <headrace/augment/detail/normalize_task.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {
namespace {

__device__ void store(float value, float* to) {
  *to = value;
}
__device__ void store(float value, __half* to) {
  *to = __float2half_rn(value);
}
__device__ void store(float value, __nv_bfloat16* to) {
  *to = __float2bfloat16_rn(value);
}

/// One thread a pixel: reads its channels together, writes each where the layout wants it.
template <class Out>
__global__ void normalize(NormalizeTask task) {
  const std::int64_t all = task.pictures * task.pixels;
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all; i += step) {
    const std::int64_t picture = i / task.pixels;
    const std::int64_t pixel = i - picture * task.pixels;
    const std::uint8_t* from = task.from + i * task.channels;
    Out* to = static_cast<Out*>(task.to) + picture * task.pixels * task.channels;
    for (int c = 0; c < task.channels; ++c) {
      const float value = __fadd_rn(__fmul_rn(float(from[c]), task.factor[c]), task.offset[c]);
      store(value,
            to + (task.channels_first ? c * task.pixels + pixel : pixel * task.channels + c));
    }
  }
}

template <class Out>
void launch(const NormalizeTask& task, cudaStream_t stream) {
  constexpr std::int64_t threads = 256;
  const std::int64_t blocks = (task.pictures * task.pixels + threads - 1) / threads;
  const auto grid = static_cast<unsigned>(blocks < 8192 ? blocks : 8192);
  if (grid == 0) return;
  normalize<Out><<<grid, static_cast<unsigned>(threads), 0, stream>>>(task);
}

}  // namespace

void normalize_on_device(const NormalizeTask& task, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  switch (task.dtype) {
    case DType::float16:
      launch<__half>(task, on);
      break;
    case DType::bfloat16:
      launch<__nv_bfloat16>(task, on);
      break;
    default:
      launch<float>(task, on);
      break;
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw DeviceError(std::string("[normalize] the kernel cannot be started: ") +
                      cudaGetErrorString(error));
  }
}

}  // namespace headrace::inline v1::detail
