// The host in place of a GPU: kernels of the shim, streams and memory of the stand-in.
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/tests/kernels/kernel_device.h>
#include <headrace/tests/kernels/shim/grid.h>

#include <sys/mman.h>

namespace headrace::test {

using kernels::Order;

void in_each_order(const std::function<void()>& work) {
  static unsigned seed = 0;
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    kernels::use({.order = order, .seed = ++seed});
    work();
  }
  kernels::use({});
}

void run_kernel(const detail::Kernel& kernel, const void* task, std::uint64_t blocks) {
  if (blocks > 0) {
    kernels::use({.last_block = 0});
    detail::launch(kernel, task, Device::cuda(0), {});
    const std::uint64_t all = kernels::blocks_of_last_launch();
    kernels::use({.first_block = all > blocks ? all - blocks : 0});
  }
  detail::launch(kernel, task, Device::cuda(0), {});
  detail::drain(Stream{});
  if (blocks > 0) kernels::use({});
}

std::int64_t kernel_launches() {
  return kernels::launches();
}

VastBytes::VastBytes(std::size_t bytes) : bytes_(bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped != MAP_FAILED) memory_ = static_cast<std::byte*>(mapped);
}

VastBytes::~VastBytes() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

}  // namespace headrace::test
