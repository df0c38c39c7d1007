#pragma once

#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/tensor/huge_pages.h>

#include <array>
#include <cstddef>
#include <string>

namespace headrace::inline v1::detail {

/// Copies pieces to a device, the current one, through two page-locked buffers, one filled while
/// the other travels. For loading: it waits for the device. Throws DeviceError.
class DeviceUpload {
 public:
  /// Buffers of `bytes` each.
  DeviceUpload(Device device, std::size_t bytes) : stream_(make_stream(device, false)) {
    for (Buffer& buffer : buffers_) {
      buffer.memory = HugePages(bytes);
      std::string refusal;  // the copy is then slower, and no less right
      buffer.lock = lock_pages(device, buffer.memory.data(), bytes, refusal);
      buffer.copied = make_awaited_event(device);
    }
  }
  ~DeviceUpload() { drain(stream()); }
  DeviceUpload(const DeviceUpload&) = delete;
  DeviceUpload& operator=(const DeviceUpload&) = delete;

  /// The buffer whose turn it is, once what was in it has arrived.
  std::byte* next() {
    turn_ = 1 - turn_;
    Buffer& buffer = buffers_[turn_];
    if (buffer.used) await(buffer.copied);
    buffer.used = true;
    return buffer.memory.data();
  }
  /// Queues a copy out of that buffer.
  void send(std::byte* to, const std::byte* from, std::size_t bytes) {
    copy_to_device(to, from, bytes, stream());
  }
  /// All of that buffer is queued.
  void sent() { record(buffers_[turn_].copied, stream()); }
  /// Waits for all.
  void finish() {
    drain(stream());
    require_health(stream());
  }

 private:
  struct Buffer {
    HugePages memory;
    PageLock lock;
    DeviceEvent copied;
    bool used = false;
  };

  Stream stream() const noexcept { return {stream_.get()}; }

  std::array<Buffer, 2> buffers_;
  DeviceStream stream_;
  std::size_t turn_ = 0;
};

}  // namespace headrace::inline v1::detail
