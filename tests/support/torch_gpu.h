#pragma once

#include <ATen/Context.h>

#include <dlfcn.h>
#include <unistd.h>

namespace headrace::test {

/// Opens LibTorch's CUDA library where there is a GPU; whether that can be used.
inline bool open_torch_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0 &&
         ::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr &&
         at::globalContext().hasCUDA();
}

/// c10::cuda::SyncDebugMode, whose header needs CUDA's own.
enum class SyncDebugMode : int { disabled = 0, warn = 1, error = 2 };

/// The mode of the process: a static variable of an inline function. Null before LibTorch's CUDA
/// library is open.
inline SyncDebugMode* sync_debug_mode() {
  return static_cast<SyncDebugMode*>(
      ::dlsym(RTLD_DEFAULT, "_ZZN3c104cuda13warning_stateEvE14warning_state_"));
}

/// While it lives what waits for the device throws.
class WaitsThrow {
 public:
  WaitsThrow() { *sync_debug_mode() = SyncDebugMode::error; }
  ~WaitsThrow() { *sync_debug_mode() = SyncDebugMode::disabled; }
  WaitsThrow(const WaitsThrow&) = delete;
  WaitsThrow& operator=(const WaitsThrow&) = delete;
};

}  // namespace headrace::test
