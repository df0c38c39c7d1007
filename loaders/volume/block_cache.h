#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace headrace::inline v1 {

namespace detail {
struct CachedBlock;
template <class T>
class PerProcess;
}  // namespace detail

/// What a cache has done since it was made.
struct BlockCacheStats {
  std::uint64_t hits = 0;    ///< pins that found their block, or another thread making it
  std::uint64_t misses = 0;  ///< pins that made their block
  std::uint64_t evictions = 0;
  std::uint64_t bytes_read = 0;       ///< of files
  std::uint64_t bytes_decoded = 0;    ///< of blocks that were made
  std::uint64_t bytes_delivered = 0;  ///< of voxels that were copied out of blocks
  std::size_t resident_bytes = 0;     ///< now, blocks being made among them
  std::size_t most_resident_bytes = 0;
  std::size_t most_bytes = 0;  ///< the cap

  /// Bytes decoded for each byte delivered; 0 before the first.
  double read_amplification() const noexcept {
    return bytes_delivered == 0
               ? 0.0
               : static_cast<double>(bytes_decoded) / static_cast<double>(bytes_delivered);
  }
  /// Share of pins that decoded nothing; 0 before the first.
  double hit_rate() const noexcept {
    return hits + misses == 0 ? 0.0
                              : static_cast<double>(hits) / static_cast<double>(hits + misses);
  }
};

/// A block of one of a cache's volumes: BlockCache::add()'s number, and the block's number in the
/// volume's grid.
struct BlockKey {
  std::uint64_t volume = 0;
  std::int64_t block = 0;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

/// Decoded blocks of any number of volumes, shared by all threads of a process. Who needs a block
/// that is not there makes it; others that want the same one wait for it, so it is made once. All
/// blocks together, pinned ones and those being made included, never exceed the cap: where nothing
/// else can go, who needs room waits for a pin to end. Of blocks that are not pinned those go that
/// were not used since the hand of the clock last came by. Thread-safe. Beside the blocks it holds
/// about 200 bytes for each. A process that is forked later begins with none.
class HEADRACE_API BlockCache {
 public:
  /// Keeps a block where it is until it is destroyed. A thread holds one at a time: one that holds
  /// a pin must not ask for another, or threads could wait for each other's room.
  class HEADRACE_API Pin {
   public:
    Pin() = default;
    explicit Pin(detail::CachedBlock* block) noexcept : block_(block) {}
    Pin(Pin&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
      std::swap(block_, other.block_);
      return *this;
    }
    ~Pin();

    explicit operator bool() const noexcept { return block_ != nullptr; }
    /// The decoded block.
    std::span<const std::byte> bytes() const noexcept;

   private:
    detail::CachedBlock* block_ = nullptr;
  };

  /// Fills a block; returns the bytes it read of a file. Called from any thread; what it throws
  /// reaches all who wait for the block, and is not kept.
  using Make = std::function<std::uint64_t(std::span<std::byte> out)>;

  /// `most_bytes` of decoded blocks. Memory is taken as blocks come.
  explicit BlockCache(std::size_t most_bytes);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// A number for the keys of a volume's blocks, never given twice. Throws ResourceError where a
  /// block of it is larger than the cache.
  std::uint64_t add(const Volume& volume);
  /// Forgets a volume's blocks. Nobody may read of it any more.
  void remove(std::uint64_t volume) noexcept;

  /// The block if it is there; else an empty pin. Never waits for more than a lock.
  Pin try_pin(const BlockKey& key) noexcept;
  /// The block, of `bytes` bytes, made by `make` if nobody has begun to; empty while another thread
  /// makes it. Throws what `make` throws, ResourceError for a block larger than the cache.
  Pin pin_or_make(const BlockKey& key, std::size_t bytes, const Make& make);
  /// pin_or_make(), and waits for the other thread.
  Pin pin(const BlockKey& key, std::size_t bytes, const Make& make);
  /// Whether a block is there now.
  bool holds(const BlockKey& key) const noexcept;

  /// Counts voxels that were copied out of blocks.
  void count_delivered(std::uint64_t bytes) noexcept {
    delivered_.fetch_add(bytes, std::memory_order_relaxed);
  }
  BlockCacheStats stats() const;
  std::size_t most_bytes() const noexcept { return most_bytes_; }

 private:
  struct Core;

  std::size_t most_bytes_;
  std::unique_ptr<const detail::PerProcess<Core>> core_;
  std::atomic<std::uint64_t> next_volume_{1};
  std::atomic<std::uint64_t> delivered_{0};
};

}  // namespace headrace::inline v1
