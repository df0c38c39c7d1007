#include <headrace/engine/device.h>

#include <headrace/engine/detail/device_module.h>

namespace headrace::inline v1 {

std::string to_string(Device device) {
  return device.is_cuda() ? "cuda:" + std::to_string(device.index) : "cpu";
}

std::string device_runtime() {
  return detail::device_runtime_file();
}

}  // namespace headrace::inline v1
