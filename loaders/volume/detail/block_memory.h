#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Memory of one block, of a BlockStock: goes back to it, or to the system with the object.
class BlockMemory {
 public:
  BlockMemory() = default;
  BlockMemory(BlockMemory&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mapped_(std::exchange(other.mapped_, 0)) {}
  BlockMemory& operator=(BlockMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~BlockMemory();

  std::byte* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return size_; }

 private:
  friend class BlockStock;
  BlockMemory(std::byte* bytes, std::size_t size, std::size_t mapped)
      : bytes_(bytes), size_(size), mapped_(mapped) {}

  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  ///< bytes of address space; 0: of the heap
};

/// Memory for blocks of many sizes that takes no more of the process than the blocks that there
/// are: one of more than a few pages is a mapping whose pages go when the block does. Its addresses
/// stay for another of about its size, as a mapping that is cut into pieces costs the kernel one
/// each, of which a process may have some ten thousand. Thread-safe.
class BlockStock {
 public:
  BlockStock() = default;
  BlockStock(const BlockStock&) = delete;
  BlockStock& operator=(const BlockStock&) = delete;
  /// All memory must have come back.
  ~BlockStock();

  /// Throws std::bad_alloc.
  BlockMemory take(std::size_t size);
  void give(BlockMemory memory) noexcept;

 private:
  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<std::byte*>> spare_;  ///< by mapped bytes
};

}  // namespace headrace::inline v1::detail
