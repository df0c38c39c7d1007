#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/loaders/image/image_header.h>

namespace headrace::inline v1 {

/// JPEG on a CUDA device through nvJPEG, which is opened on first use: by the device's JPEG engines
/// where it has some, else by nvJPEG's own choice. For files that JpegDecoder has opened and calls
/// plain. The pixels differ from JpegDecoder's by rounding. Used by one thread at a time; its
/// memory on host and device is kept from image to image.
class HEADRACE_API NvjpegDecoder {
 public:
  /// Largest picture, in bytes of packed RGB, and largest file that are taken. A thread's buffers
  /// on the device and, page-locked, on the host have at most half as much again.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  /// Throws DeviceError for a device that is not there, ConfigError where nvJPEG is not installed.
  static void require(Device device, const std::string& who);

  /// Throws as require() does, DeviceError also where nvJPEG cannot be set up on the device.
  explicit NvjpegDecoder(Device device);
  ~NvjpegDecoder();
  NvjpegDecoder(const NvjpegDecoder&) = delete;
  NvjpegDecoder& operator=(const NvjpegDecoder&) = delete;

  /// The pixels of `region`, at full size, of a whole `file`; nullopt where nvJPEG does not take
  /// it. Throws DeviceError where the device has failed, ResourceError where its memory does not
  /// suffice.
  std::optional<DecodedPixels> decode(std::span<const std::byte> file, const ImageHeader& header,
                                      const Region& region);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Images that were to be decoded on a device, of the whole process so far.
struct DeviceDecodes {
  std::int64_t on_device = 0;
  std::int64_t on_cpu = 0;  ///< what the device's decoder does not take
};
HEADRACE_API DeviceDecodes device_decodes() noexcept;

namespace detail {
void count_device_decode(bool on_device) noexcept;
}  // namespace detail
}  // namespace headrace::inline v1
