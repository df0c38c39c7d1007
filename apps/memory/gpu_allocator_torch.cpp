#include <headrace/apps/memory/allocator_settings.h>
#include <headrace/apps/memory/gpu_allocator_torch.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/engine/device/internal/device_objects.h>

#include <stdlib.h>

#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>
#endif

namespace headrace::inline v1::app {
namespace {

void warn_of_no_limit() {
  log_data(headrace::LogLevel::warning,
           "[memory] this LibTorch cannot be held to a part of the GPU: the "
           "plan alone keeps to the limit");
}

}  // namespace

bool prepare_gpu_allocator() {
  const auto value = allocator_environment(allocator_variables());
  if (!value) return false;
  ::setenv("PYTORCH_CUDA_ALLOC_CONF", value->c_str(), /*overwrite=*/0);
  return true;
}

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
bool gpu_allocator_has_begun() {
  auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA));
  return allocator != nullptr && allocator->initialized();
}

void limit_gpu_tensors(const Device& device, std::uint64_t bytes) {
  const auto& keys = c10::CachingAllocator::AcceleratorAllocatorConfig::getKeys();
  if (keys.count(share_of_gpu) == 0) return warn_of_no_limit();
  if (gpu_allocator_has_begun())
    return log_data(headrace::LogLevel::warning,
                    "[memory] a limit of the GPU's memory must be set before the first tensor "
                    "there, got one that came later: tensors are not held to it; make no tensor "
                    "before the program is run");
  c10::CachingAllocator::setAllocatorSettings(settings_with_share(
      allocator_variables().settings(), bytes, headrace::detail::all_device_bytes(device)));
}
#else
// Before 2.9 what the allocator is told has no interface that does without CUDA's headers.
bool gpu_allocator_has_begun() {
  return false;
}
void limit_gpu_tensors(const Device&, std::uint64_t) {
  warn_of_no_limit();
}
#endif

}  // namespace headrace::inline v1::app
