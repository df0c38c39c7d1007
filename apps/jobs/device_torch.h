#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>

#include <c10/core/Device.h>

namespace headrace::inline v1::app {

/// The same device in LibTorch's words.
HEADRACE_API c10::Device torch_device(Device device);

}  // namespace headrace::inline v1::app
