#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headrace::test {

/// Whether this machine and this build can use a GPU.
inline bool device_present() {
  try {
    detail::require_device(Device::cuda(0), "test");
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

/// Bytes of memory of the first GPU, on a stream that is waited for.
inline std::vector<std::byte> bytes_on_device(const void* from, std::size_t bytes) {
  std::vector<std::byte> read(bytes);
  if (bytes == 0) return read;
  const detail::DeviceScope scope(Device::cuda(0));
  detail::copy_rows_to_host(read.data(), static_cast<const std::byte*>(from), bytes, bytes, 1, {});
  detail::drain(Stream{});
  return read;
}

/// Memory of the first GPU with the given bytes in it, `shift` bytes behind an aligned address. It
/// ends where they do, so that who goes beyond is found.
class DeviceBytes {
 public:
  DeviceBytes(const void* from, std::size_t bytes, std::size_t shift = 0)
      : memory_(
            detail::allocate_on_device(Device::cuda(0), std::max<std::size_t>(bytes + shift, 1))),
        bytes_(bytes),
        shift_(shift) {
    if (from == nullptr || bytes == 0) return;
    const detail::DeviceScope scope(Device::cuda(0));
    detail::copy_to_device(data(), static_cast<const std::byte*>(from), bytes, {});
    detail::drain(Stream{});
  }

  std::byte* data() const { return memory_.get() + shift_; }
  std::vector<std::byte> read() const { return bytes_on_device(data(), bytes_); }

 private:
  detail::DeviceMemory memory_;
  std::size_t bytes_;
  std::size_t shift_;
};

}  // namespace headrace::test
