#pragma once

#include <string>

namespace headrace::inline v1::detail {

/// A function of the device module; cast to its real type.
using DeviceFunction = void (*)();

/// Finds a function of the device module, headrace_cuda.so: all code of ours that calls CUDA or
/// runs on a device. The first call loads it, against the shared CUDA runtime that the process has
/// loaded already, else the system's, else that of the Python environment: LibTorch and we share
/// one. Throws DeviceError where that cannot be. Thread-safe.
DeviceFunction device_function(const char* name);

/// Why the device module cannot be used; empty once it is loaded.
std::string device_module_obstacle();

/// For tests: their functions stand in for the module's; null for an unknown name.
void stand_in_for_device_module(DeviceFunction (*find)(const char* name));

}  // namespace headrace::inline v1::detail
