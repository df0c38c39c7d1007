#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>

#include <cuda_runtime_api.h>

// What a .cu of ours asks of CUDA C++ beyond its functions: launches and shared memory. nvcc takes
// them as they are; the tests compile the same file for the host and bring their own form of both
// (tests/kernels, docs/device-kernels.md). No `<<<` and no `__shared__` stand in a .cu.

namespace headrace::inline v1::detail {

/// Where and how wide a kernel runs.
struct Launch {
  dim3 grid;
  dim3 block;
  cudaStream_t stream = nullptr;
};

#ifdef __CUDACC__

/// Launches a kernel; its arguments are copied before this returns. The status of the launch.
template <class... Parameters, class... Arguments>
cudaError_t launch_grid(void (*kernel)(Parameters...), const Launch& how,
                        const Arguments&... arguments) {
  kernel<<<how.grid, how.block, 0, how.stream>>>(static_cast<Parameters>(arguments)...);
  return cudaGetLastError();
}

/// Memory that the threads of a block share: one T a kernel, of any content when a block begins.
template <class T>
__device__ __forceinline__ T& block_memory() {
  static_assert(std::is_trivially_default_constructible_v<T> && sizeof(T) <= 48 * 1024);
  __shared__ T memory;
  return memory;
}

#else

cudaError_t launch_on_host(const Launch& how, std::function<void()> thread);
void* block_memory_on_host(const void* key, std::size_t bytes);

template <class... Parameters, class... Arguments>
cudaError_t launch_grid(void (*kernel)(Parameters...), const Launch& how,
                        const Arguments&... arguments) {
  return launch_on_host(
      how, [kernel, copied = std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)] {
        std::apply(kernel, copied);
      });
}

template <class T>
T& block_memory() {
  static_assert(std::is_trivially_default_constructible_v<T> && sizeof(T) <= 48 * 1024);
  static const char key = 0;
  return *static_cast<T*>(block_memory_on_host(&key, sizeof(T)));
}

#endif

}  // namespace headrace::inline v1::detail
