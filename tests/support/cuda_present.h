#pragma once

#include <cuda_runtime_api.h>

namespace headrace::test {

/// Whether the CUDA runtime finds a device; leaves no error behind.
inline bool device_present() {
  int count = 0;
  const bool present = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  return present;
}

}  // namespace headrace::test
