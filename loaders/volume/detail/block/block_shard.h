#pragma once

#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/volume/block_cache.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
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

/// A block in the cache. All but the pins is under its shard's lock; the memory of a block that is
/// pinned stays.
struct CachedBlock {
  enum class State : unsigned char { making, ready, failed };

  BlockKey key{};
  State state = State::making;
  bool used = true;           ///< since the hand came by
  std::uint32_t waiting = 0;  ///< threads that get a pin, or the error, when the maker is done
  std::size_t place = 0;      ///< in the ring
  std::size_t size = 0;
  std::atomic<std::uint32_t> pins{0};  ///< rises under the lock only
  BlockMemory memory{};
  std::exception_ptr error{};
};

struct BlockKeyHash {
  std::size_t operator()(const BlockKey& key) const noexcept {
    std::uint64_t mixed =
        key.volume * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(key.block);
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ULL;
    return mixed ^ mixed >> 32;
  }
};

/// A part of the cache with a lock of its own. The lock is never held while a block is made.
struct alignas(64) BlockShard {
  std::mutex mutex;
  std::condition_variable made;
  std::unordered_map<BlockKey, std::shared_ptr<CachedBlock>, BlockKeyHash> blocks;
  std::vector<CachedBlock*> ring;  ///< those that are ready, as the clock's hand goes
  std::size_t hand = 0;
  std::uint64_t hits = 0, misses = 0, evictions = 0, bytes_read = 0, bytes_decoded = 0;

  /// The block if it is ready, pinned; the lock is held.
  CachedBlock* find_ready(const BlockKey& key) noexcept;
  /// Memory of a block that nobody pins and nobody used lately, if the shard has one; of `size`
  /// bytes, unless that is 0. Locks.
  BlockMemory evict(std::size_t size) noexcept;
  /// Takes a block out; the lock is held.
  BlockMemory drop(CachedBlock& block) noexcept;
};

}  // namespace headrace::inline v1::detail
