#include <headrace/apps/jobs/device_torch.h>

namespace headrace::inline v1::app {

c10::Device torch_device(Device device) {
  if (!device.is_cuda()) return c10::Device(c10::DeviceType::CPU);
  return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device.index));
}

}  // namespace headrace::inline v1::app
