#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include <headrace/engine/device/internal/device_objects.h>

namespace headrace::inline v1::detail {

/// Bytes to take where `bytes` are needed and `held` do not suffice: growing by half keeps growth
/// rare, for both kinds of memory are dear to take.
constexpr std::size_t grown(std::size_t bytes, std::size_t held) noexcept {
  constexpr std::size_t page = 4096;
  return (std::max(bytes, held + held / 2) + page - 1) / page * page;
}

/// Memory of a device that only grows.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(Device device) : device_(device) {}
  /// Contents are lost where it grows. Throws ResourceError.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > size_) {
      const std::size_t whole = grown(bytes, size_);
      memory_.reset();
      size_ = 0;
      memory_ = allocate_on_device(device_, whole);
      size_ = whole;
    }
    return memory_.get();
  }

 private:
  Device device_;
  DeviceMemory memory_;
  std::size_t size_ = 0;
};

/// Host memory that only grows: page-locked, or pageable where the system does not allow that.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(Device device) : device_(device) {}
  /// Contents are lost where it grows. Throws bad_alloc.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > size_) {
      const std::size_t whole = grown(bytes, size_);
      lock_.reset();
      memory_.reset();
      size_ = 0;
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, whole)));
      if (!memory_) throw std::bad_alloc();
      std::string refusal;
      lock_ = lock_pages(device_, memory_.get(), whole, refusal);
      size_ = whole;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  Device device_;
  std::unique_ptr<std::byte, Free> memory_;
  PageLock lock_;
  std::size_t size_ = 0;
};

}  // namespace headrace::inline v1::detail
