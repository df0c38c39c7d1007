// A GPU, where there is one.
#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/tests/kernels/kernel_device.h>

#include <algorithm>
#include <vector>

namespace headrace::test {

void in_each_order(const std::function<void()>& work) {
  work();
}

void run_kernel(const detail::Kernel& kernel, const void* task, std::uint64_t) {
  detail::launch(kernel, task, Device::cuda(0), {});
  const detail::DeviceScope scope(Device::cuda(0));
  detail::drain(Stream{});
  detail::require_health({});
}

std::int64_t kernel_launches() {
  return -1;
}

VastBytes::VastBytes(std::size_t bytes) : bytes_(bytes) {
  try {
    memory_ = detail::allocate_on_device(Device::cuda(0), bytes).release();
  } catch (const Error&) {
    memory_ = nullptr;
    return;
  }
  // The driver gives memory as others left it.
  const std::vector<std::byte> null_bytes(std::size_t{64} << 20);
  const detail::DeviceScope scope(Device::cuda(0));
  for (std::size_t at = 0; at < bytes; at += null_bytes.size()) {
    detail::copy_to_device(memory_ + at, null_bytes.data(), std::min(null_bytes.size(), bytes - at),
                           {});
  }
  detail::drain(Stream{});
}

VastBytes::~VastBytes() {
  if (memory_ != nullptr) detail::FreeDeviceMemory{0}(memory_);
}

}  // namespace headrace::test
