#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/block/block_shard.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

namespace headrace::inline v1 {

using detail::BlockMemory;
using detail::BlockShard;
using detail::BlockStock;
using detail::CachedBlock;

namespace {

constexpr std::size_t shards = 64;
constexpr std::uint64_t any_size_every = 8;

[[noreturn]] void refuse(const std::string& what, std::size_t bytes, std::size_t most_bytes) {
  throw ResourceError("[volume cache] " + what + " takes " + std::to_string(bytes) +
                      " bytes when it is decoded, the cache holds " + std::to_string(most_bytes) +
                      "; write the volume in small chunks (headrace pack volumes), or give the "
                      "cache more memory");
}

}  // namespace

/// The blocks of one process.
struct BlockCache::Core {
  explicit Core(std::size_t most)
      : most_bytes_(most),
        stock_(std::make_unique<BlockStock>(most)),
        shards_(std::make_unique<BlockShard[]>(shards)) {}

  BlockShard& shard_of(const BlockKey& key) const noexcept;
  Pin find_or_make(const BlockKey& key, std::size_t bytes, const Make& make, bool wait);
  void make_block(BlockShard& shard, CachedBlock& block, const Make& make);
  BlockMemory take_room(std::size_t bytes);
  BlockMemory evict(std::size_t bytes) noexcept;
  BlockMemory evict_of(std::size_t bytes, std::size_t visits) noexcept;
  bool try_reserve(std::size_t bytes) noexcept;
  void remove(std::uint64_t volume) noexcept;

  std::size_t most_bytes_;
  std::unique_ptr<BlockStock> stock_;
  std::unique_ptr<BlockShard[]> shards_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> most_used_{0};
  std::mutex evicting_;
  std::size_t hand_ = 0;      ///< shard to take from next, under evicting_
  std::uint64_t rounds_ = 0;  ///< calls of evict(), likewise
};

BlockCache::Pin::~Pin() {
  if (block_ != nullptr) block_->pins.fetch_sub(1, std::memory_order_release);
}

std::span<const std::byte> BlockCache::Pin::bytes() const noexcept {
  return {block_->memory.data(), block_->memory.size()};
}

BlockCache::BlockCache(std::size_t most_bytes)
    : most_bytes_(most_bytes), core_(std::make_unique<const detail::PerProcess<Core>>([most_bytes] {
        return std::make_unique<Core>(most_bytes);
      })) {}

BlockCache::~BlockCache() = default;

std::uint64_t BlockCache::add(const Volume& volume) {
  const std::size_t bytes = volume.info().block_bytes();
  if (bytes > most_bytes_) {
    const VolumeIndex& block = volume.info().block;
    std::string sides;
    for (const std::int64_t side : block)
      sides += (sides.empty() ? "" : " x ") + std::to_string(side);
    refuse(volume.name() + ": a block of " + sides + " voxels", bytes, most_bytes_);
  }
  return next_volume_.fetch_add(1, std::memory_order_relaxed);
}

void BlockCache::remove(std::uint64_t volume) noexcept {
  (*core_)->remove(volume);
}

void BlockCache::Core::remove(std::uint64_t volume) noexcept {
  for (std::size_t i = 0; i < shards; ++i) {
    BlockShard& shard = shards_[i];
    const std::lock_guard lock(shard.mutex);
    for (std::size_t at = shard.ring.size(); at-- > 0;) {
      if (shard.ring[at]->key.volume != volume) continue;
      BlockMemory memory = shard.drop(*shard.ring[at]);
      const std::size_t bytes = memory.size();
      stock_->give(std::move(memory));
      used_.fetch_sub(bytes, std::memory_order_relaxed);
    }
  }
}

BlockShard& BlockCache::Core::shard_of(const BlockKey& key) const noexcept {
  return shards_[detail::BlockKeyHash{}(key) >> 40 & (shards - 1)];
}

BlockCache::Pin BlockCache::try_pin(const BlockKey& key) noexcept {
  BlockShard& shard = (*core_)->shard_of(key);
  const std::lock_guard lock(shard.mutex);
  CachedBlock* const block = shard.find_ready(key);
  if (block != nullptr) ++shard.hits;
  return Pin(block);
}

bool BlockCache::holds(const BlockKey& key) const noexcept {
  BlockShard& shard = (*core_)->shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.blocks.find(key);
  return found != shard.blocks.end() && found->second->state == CachedBlock::State::ready;
}

BlockCache::Pin BlockCache::pin_or_make(const BlockKey& key, std::size_t bytes, const Make& make) {
  return (*core_)->find_or_make(key, bytes, make, false);
}

BlockCache::Pin BlockCache::pin(const BlockKey& key, std::size_t bytes, const Make& make) {
  return (*core_)->find_or_make(key, bytes, make, true);
}

BlockCache::Pin BlockCache::Core::find_or_make(const BlockKey& key, std::size_t bytes,
                                               const Make& make, bool wait) {
  if (bytes > most_bytes_) refuse("a block", bytes, most_bytes_);
  BlockShard& shard = shard_of(key);
  std::unique_lock lock(shard.mutex);
  if (CachedBlock* const ready = shard.find_ready(key)) {
    ++shard.hits;
    return Pin(ready);
  }
  if (const auto found = shard.blocks.find(key); found != shard.blocks.end()) {
    if (!wait) return {};
    const std::shared_ptr<CachedBlock> block = found->second;
    ++block->waiting;
    ++shard.hits;
    shard.made.wait(lock, [&] { return block->state != CachedBlock::State::making; });
    if (block->state == CachedBlock::State::failed) std::rethrow_exception(block->error);
    return Pin(block.get());
  }
  const auto block = std::make_shared<CachedBlock>();
  block->key = key;
  block->size = bytes;
  if (shard.ring.capacity() <= shard.blocks.size())  // publishing must not fail
    shard.ring.reserve(2 * shard.blocks.size() + 8);
  shard.blocks.emplace(key, block);
  ++shard.misses;
  lock.unlock();
  make_block(shard, *block, make);
  return Pin(block.get());
}

/// Makes a block that is in the shard already, and tells those who wait for it.
void BlockCache::Core::make_block(BlockShard& shard, CachedBlock& block, const Make& make) {
  BlockMemory memory;
  std::uint64_t read = 0;
  std::exception_ptr error;
  try {
    memory = take_room(block.size);
    read = make({memory.data(), memory.size()});
  } catch (...) {
    error = std::current_exception();
    if (memory.size() > 0) {
      const std::size_t bytes = memory.size();
      stock_->give(std::exchange(memory, BlockMemory()));
      used_.fetch_sub(bytes, std::memory_order_relaxed);
    }
  }
  {
    const std::lock_guard lock(shard.mutex);
    if (error) {
      block.error = error;
      block.state = CachedBlock::State::failed;
      shard.blocks.erase(block.key);
    } else {
      block.memory = std::move(memory);
      block.place = shard.ring.size();
      shard.ring.push_back(&block);
      block.pins.store(1 + block.waiting, std::memory_order_relaxed);
      block.state = CachedBlock::State::ready;
      shard.bytes_read += read;
      shard.bytes_decoded += block.size;
    }
  }
  shard.made.notify_all();
  if (error) std::rethrow_exception(error);
}

bool BlockCache::Core::try_reserve(std::size_t bytes) noexcept {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > most_bytes_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::size_t most = most_used_.load(std::memory_order_relaxed);
  while (most < used + bytes &&
         !most_used_.compare_exchange_weak(most, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

/// Memory for a block, counted. One thread at a time makes room, and keeps what it frees until it
/// has enough, so that a large block cannot starve; pins end without waiting for anybody.
BlockMemory BlockCache::Core::take_room(std::size_t bytes) {
  std::size_t freed = 0;  // still counted, for this block
  BlockMemory kept;       // of one that went, whose pages are there
  const auto reserved = [&] { return freed >= bytes || try_reserve(bytes - freed); };
  if (!reserved()) {
    const std::lock_guard lock(evicting_);
    while (!reserved()) {
      BlockMemory victim = evict(bytes);
      freed += victim.size();
      if (victim.size() == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      else if (victim.size() == bytes && kept.size() == 0)
        kept = std::move(victim);
      else
        stock_->give(std::move(victim));
    }
  }
  const std::size_t counted = std::max(freed, bytes);
  try {
    if (kept.size() == 0) kept = stock_->take(bytes);
  } catch (...) {
    used_.fetch_sub(counted, std::memory_order_relaxed);
    throw;
  }
  used_.fetch_sub(counted - bytes, std::memory_order_relaxed);
  return kept;
}

/// Of a block of that size, or of 0 any, in the next shards; empty where none can go.
BlockMemory BlockCache::Core::evict_of(std::size_t bytes, std::size_t visits) noexcept {
  for (std::size_t visit = 0; visit < visits; ++visit) {
    BlockShard& shard = shards_[hand_];
    hand_ = (hand_ + 1) % shards;
    if (BlockMemory victim = shard.evict(bytes); victim.size() > 0) return victim;
  }
  return {};
}

/// Memory of a block; empty where all are pinned. One of that size is looked for nearby first, as
/// its pages need not be taken anew; but not always, or those of a size that nobody asks for any
/// more would stay. A first round may find none that was not used lately.
BlockMemory BlockCache::Core::evict(std::size_t bytes) noexcept {
  if (++rounds_ % any_size_every != 0) {
    if (BlockMemory victim = evict_of(bytes, shards / 2); victim.size() > 0) return victim;
  }
  return evict_of(0, 2 * shards + 1);
}

BlockCacheStats BlockCache::stats() const {
  const Core& core = **core_;
  BlockCacheStats stats;
  for (std::size_t i = 0; i < shards; ++i) {
    BlockShard& shard = core.shards_[i];
    const std::lock_guard lock(shard.mutex);
    stats.hits += shard.hits;
    stats.misses += shard.misses;
    stats.evictions += shard.evictions;
    stats.bytes_read += shard.bytes_read;
    stats.bytes_decoded += shard.bytes_decoded;
  }
  stats.bytes_delivered = delivered_.load(std::memory_order_relaxed);
  stats.resident_bytes = core.used_.load(std::memory_order_relaxed);
  stats.most_resident_bytes = core.most_used_.load(std::memory_order_relaxed);
  stats.most_bytes = most_bytes_;
  return stats;
}

}  // namespace headrace::inline v1
