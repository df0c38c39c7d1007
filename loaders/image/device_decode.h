#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Throws, in the name of `who`, DeviceError for a device that is not there, and ConfigError where
/// nvJPEG is not installed.
HEADRACE_API void require_device_decoder(Device device, const std::string& who);

/// What decodes JPEG on a device: "nvJPEG 13.4.1, hardware engines", "GPU" or "CPU Huffman" with
/// its conditions, and why no better one does. Sets nvJPEG up where nobody has yet. Throws as
/// require_device_decoder(), and DeviceError where that fails.
HEADRACE_API std::string device_decoder(Device device);

/// Images that were to be decoded on a device, of the whole process so far.
struct DeviceDecodes {
  std::int64_t on_device = 0;
  std::int64_t on_cpu = 0;  ///< what the device's decoder does not take
};
HEADRACE_API DeviceDecodes device_decodes() noexcept;

namespace detail {
void count_device_decodes(DeviceDecodes more) noexcept;
}  // namespace detail
}  // namespace headrace::inline v1
