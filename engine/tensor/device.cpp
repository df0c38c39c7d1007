#include <headrace/engine/tensor/device.h>

namespace headrace::inline v1 {

std::string to_string(Device device) {
  return device.is_cuda() ? "cuda:" + std::to_string(device.index) : "cpu";
}

}  // namespace headrace::inline v1
