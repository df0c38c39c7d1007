#pragma once

#include <headrace/apps/train/training_backend.h>

#include <c10/core/Device.h>

namespace headrace::inline v1::app {

/// Opens LibTorch's CUDA library only where a GPU may be used. Throws DeviceError when a GPU was
/// asked for and cannot be used.
ChosenDevice choose_device(DeviceChoice choice);

/// The same device in LibTorch's words.
c10::Device torch_device(Device device);

}  // namespace headrace::inline v1::app
