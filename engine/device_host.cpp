#include <headrace/engine/detail/device_runtime.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

void require_device(Device device, const std::string& who) {
  if (!device.is_cuda()) return;
  throw DeviceError("[" + who + "] " + to_string(device) +
                    " was asked for, this build has no CUDA; configure with HEADRACE_CUDA=ON, or "
                    "deliver to the CPU");
}

}  // namespace headrace::inline v1::detail
