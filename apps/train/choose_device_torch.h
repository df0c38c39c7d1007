#pragma once

#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/train/training_backend.h>

namespace headrace::inline v1::app {

/// Opens LibTorch's CUDA library only where a GPU may be used, and prepares its allocator before.
/// Throws DeviceError when a GPU was
/// asked for and cannot be used.
ChosenDevice choose_device(DeviceChoice choice);

}  // namespace headrace::inline v1::app
