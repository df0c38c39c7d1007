#pragma once

#include <headrace/engine/tensor/device.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// Sets what the environment is to say to LibTorch's allocator of a GPU, if the person has said
/// nothing to it. Before LibTorch's CUDA library is opened, and before there is a second thread.
/// Whether something was set.
bool prepare_gpu_allocator();

/// Whether LibTorch's allocator of GPUs has begun: what is set from then on it does not read. Its
/// CUDA library is open.
bool gpu_allocator_has_begun();

/// LibTorch's tensors on the GPU may take so many bytes, 0: all of it. Has an effect only before
/// the allocator has begun; later, and for a LibTorch that cannot be told so, it is a warning of
/// the data log (run/data_log.h).
void limit_gpu_tensors(const Device& device, std::uint64_t bytes);

}  // namespace headrace::inline v1::app
