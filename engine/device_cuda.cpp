#include <headrace/engine/detail/device_runtime.h>
#include <headrace/engine/error.h>

#include <cuda_runtime_api.h>

namespace headrace::inline v1::detail {

void require_device(Device device, const std::string& who) {
  if (!device.is_cuda()) return;
  const std::string asked = "[" + who + "] " + to_string(device) + " was asked for, ";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError(asked + "the CUDA runtime answers: " + cudaGetErrorString(status) +
                      "; install a driver, or deliver to the CPU");
  }
  if (device.index < 0 || device.index >= count) {
    throw DeviceError(asked + "this machine has " + std::to_string(count) +
                      " device(s); name one of them");
  }
  throw DeviceError(
      asked +
      "loaders deliver host memory in this version; deliver to the CPU and copy in the trainer");
}

}  // namespace headrace::inline v1::detail
