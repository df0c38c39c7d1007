#pragma once

#include <functional>

#include <c10/core/Device.h>

namespace headrace::inline v1::bench {

/// The most bytes that tensors on a device hold at once in `work`, beside those that are there
/// before; of a GPU's those of LibTorch's allocator, without what it keeps in reserve, 0 before
/// LibTorch 2.9. `work` waits for the device.
double peak_bytes(c10::Device device, const std::function<void()>& work);

}  // namespace headrace::inline v1::bench
