#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/apps/memory/gpu_allocator_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/device/device_runtime.h>

#include <ATen/Context.h>

#include <dlfcn.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

// Why no GPU can be used; empty when one can.
std::string obstacle() {
  if (::access("/dev/nvidiactl", F_OK) != 0) return "this machine has no GPU that its driver shows";
  // Its kernels register themselves; it stays open for the life of the process.
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return std::string("LibTorch's CUDA library cannot be opened: ") + ::dlerror();
  }
  if (!at::globalContext().hasCUDA()) return "LibTorch finds no GPU it can use";
  try {
    device_runtime();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

ChosenDevice choose_device(DeviceChoice choice) {
  if (choice == DeviceChoice::cpu) return {.why = "cpu (as configured)"};
  const bool prepared = prepare_gpu_allocator();
  const std::string none = obstacle();
  if (none.empty()) {
    std::string why = choice == DeviceChoice::cuda ? "cuda:0 (as configured" : "cuda:0 (auto";
    if (prepared && gpu_allocator_has_begun())
      why +=
          "; LibTorch's allocator had begun before it could be prepared: set "
          "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    return {.device = Device::cuda(0), .why = why + ")"};
  }
  if (choice == DeviceChoice::cuda) {
    throw DeviceError("[device] cuda was asked for and must be usable, got: " + none +
                      "; set device to auto or cpu to train without one");
  }
  return {.why = "cpu (auto: " + none + ")", .no_gpu = none};
}

}  // namespace headrace::inline v1::app
