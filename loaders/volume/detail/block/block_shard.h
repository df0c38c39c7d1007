#pragma once

#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/block/block_memory.h>

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
