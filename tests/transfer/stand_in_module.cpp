// The device module as a part of the test's program: its CUDA calls are the stand-in's.
#include "stand_in_module.h"

#include <headrace/engine/device/detail/device_module.h>
#include <headrace/engine/device/internal/device_api.h>

#include <map>
#include <mutex>

#include <dlfcn.h>

extern "C" const headrace::detail::DeviceApi* headrace_device_api();

namespace headrace::test::device {

namespace {

std::map<std::string, detail::DeviceFunction>& functions() {
  static std::map<std::string, detail::DeviceFunction> all{
      {"headrace_device_api", reinterpret_cast<detail::DeviceFunction>(&headrace_device_api)}};
  return all;
}

detail::DeviceFunction find(const char* name) {
  const auto found = functions().find(name);
  if (found != functions().end()) return found->second;
  // A kernel that the program has compiled for the host (tests/kernels).
  return reinterpret_cast<detail::DeviceFunction>(::dlsym(RTLD_DEFAULT, name));
}

const bool stands_in = (detail::stand_in_for_device_module(find), true);

}  // namespace

void provide_kernel(const std::string& function, int (*kernel)(const void*, void*)) {
  functions()[function] = reinterpret_cast<detail::DeviceFunction>(kernel);
}

}  // namespace headrace::test::device
