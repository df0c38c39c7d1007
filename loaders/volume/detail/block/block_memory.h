#pragma once

#include <headrace/engine/tensor/huge_pages.h>

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Memory of one block, of a BlockStock, to which it is given back; or the stock ends with it.
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
/// are, or than its cap: the pages of a large block go when it does, and its addresses stay for
/// another of about its size. Address space is taken in large pieces, as a process may have some
/// ten thousand of them. Blocks of which whole ones fill a huge page lie on huge pages, which come
/// sooner and cost few address translations to read; spare ones of their size come with them, and
/// go where others need the room. No memory may be in use any more when it ends. Thread-safe.
class BlockStock {
 public:
  explicit BlockStock(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  BlockStock(const BlockStock&) = delete;
  BlockStock& operator=(const BlockStock&) = delete;

  /// Throws ResourceError or std::bad_alloc.
  BlockMemory take(std::size_t size);
  void give(BlockMemory memory) noexcept;

 private:
  /// Places for blocks of one size that no block has.
  struct Places {
    std::vector<std::byte*> empty;
    std::vector<std::byte*> filled;  ///< their pages are there
    std::size_t made = 0;
  };

  std::byte* find(std::size_t mapped);
  std::byte* make_place(std::size_t mapped);
  std::byte* make_huge_page(std::size_t mapped);
  std::byte* carve(std::size_t bytes, std::size_t alignment);
  void make_room(std::size_t bytes) noexcept;

  std::size_t most_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::size_t, Places> places_;  ///< by bytes of address space
  std::size_t resident_ = 0;                        ///< bytes that are taken, spare ones among them
  std::vector<HugePages> regions_;
  std::byte* free_ = nullptr;  ///< addresses of the last region that nobody has yet
  std::size_t left_ = 0;
};

}  // namespace headrace::inline v1::detail
