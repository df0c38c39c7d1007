#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>

namespace headrace::inline v1::detail {

/// A kernel of the device module.
struct Kernel {
  const char* who;  ///< in messages
  const char*
      function;  ///< `extern "C" int function(const void* task, void* stream)`: a CUDA status
};

/// Launches a kernel on a stream of a device; the thread's current device stays. `task` points to
/// what the kernel says that it takes, and is read before this returns. Throws DeviceError.
HEADRACE_API void launch(const Kernel& kernel, const void* task, Device device, Stream stream);

}  // namespace headrace::inline v1::detail
