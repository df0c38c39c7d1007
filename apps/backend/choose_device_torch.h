#pragma once

#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/job/stage_torch.h>

namespace headrace::inline v1::app {

/// Opens LibTorch's CUDA library only where a GPU may be used, and prepares its allocator before.
/// Throws DeviceError when a GPU was
/// asked for and cannot be used.
ChosenDevice choose_device(DeviceChoice choice);

}  // namespace headrace::inline v1::app
