#pragma once

#include <string>

#include <headrace/engine/device.h>

namespace headrace::inline v1::detail {

/// Throws DeviceError when batches cannot be delivered to that device by this build on this
/// machine; the CPU always can.
void require_device(Device device, const std::string& who);

}  // namespace headrace::inline v1::detail
