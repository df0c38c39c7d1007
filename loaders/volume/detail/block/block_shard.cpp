#include <headrace/loaders/volume/detail/block/block_shard.h>

namespace headrace::inline v1::detail {

CachedBlock* BlockShard::find_ready(const BlockKey& key) noexcept {
  const auto found = blocks.find(key);
  if (found == blocks.end() || found->second->state != CachedBlock::State::ready) return nullptr;
  CachedBlock& block = *found->second;
  block.used = true;
  block.pins.fetch_add(1, std::memory_order_relaxed);
  return &block;
}

BlockMemory BlockShard::evict(std::size_t size) noexcept {
  const std::lock_guard lock(mutex);
  for (std::size_t left = ring.size(); left > 0; --left) {
    if (hand >= ring.size()) hand = 0;
    CachedBlock& block = *ring[hand];
    const bool fits = size == 0 || block.memory.size() == size;
    if (fits && block.pins.load(std::memory_order_acquire) == 0 &&
        !std::exchange(block.used, false)) {
      ++evictions;
      return drop(block);
    }
    ++hand;
  }
  return {};
}

BlockMemory BlockShard::drop(CachedBlock& block) noexcept {
  BlockMemory memory = std::move(block.memory);
  ring[block.place] = ring.back();
  ring[block.place]->place = block.place;
  ring.pop_back();
  blocks.erase(block.key);
  return memory;
}

}  // namespace headrace::inline v1::detail
