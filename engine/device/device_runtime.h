#pragma once

#include <headrace/engine/base/export.h>

#include <string>

namespace headrace::inline v1 {

/// The CUDA runtime that devices are used through, for logs: its file and who chose it, as in
/// "/opt/lib/libcudart.so.13 (loaded already)". Loads the device module. Throws DeviceError where
/// there is none.
HEADRACE_API std::string device_runtime();

}  // namespace headrace::inline v1
