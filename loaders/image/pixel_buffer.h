#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace headrace::inline v1::detail {

/// Memory for pixels, 64-byte aligned, that only grows. `slack` bytes beyond what was asked for may
/// be read and hold no uninitialised values.
class PixelBuffer {
 public:
  static constexpr std::size_t slack = 128;
  static constexpr std::size_t kept = std::size_t{64} << 20;

  std::uint8_t* reserve(std::size_t bytes) {
    if (bytes > size_) {
      const std::size_t whole = (bytes + slack + 63) / 64 * 64;
      memory_.reset();
      size_ = 0;
      memory_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(64, whole)));
      if (!memory_) throw std::bad_alloc();
      for (std::size_t i = 0; i < whole; ++i)
        memory_.get()[i] = 0;
      size_ = bytes;
    }
    return memory_.get();
  }
  /// Gives back what an unusually large picture took; for before the next one.
  void trim() {
    if (size_ <= kept) return;
    memory_.reset();
    size_ = 0;
  }
  std::uint8_t* data() const noexcept { return memory_.get(); }
  std::size_t size() const noexcept { return size_; }

  static constexpr std::size_t padded(std::size_t row_bytes) { return (row_bytes + 63) / 64 * 64; }

 private:
  struct Free {
    void operator()(std::uint8_t* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::uint8_t, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace headrace::inline v1::detail
