#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/volume/detail/block/block_shard.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>

#include <sys/mman.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t least_mapping = std::size_t{64} << 10;
constexpr std::size_t most_region = std::size_t{64} << 20;
constexpr std::size_t huge_page = HugePages::huge_page;
constexpr std::align_val_t cache_line{64};

std::size_t rounded_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// Eight sizes of address space for each power of two; pages that nobody touches take no memory.
std::size_t mapped_for(std::size_t size) {
  if (size < least_mapping) return 0;
  return HugePages::mapped_bytes(rounded_up(size, std::bit_floor(size) / 8));
}

// Whole blocks fill whole huge pages.
bool fills_huge_pages(std::size_t size) {
  return size % huge_page == 0 || huge_page % size == 0;
}

void let_pages_go(std::byte* first, std::size_t bytes) {
  // Makes a huge page of which this is a part into small ones; its memory would stay whole.
  if (bytes < huge_page && fills_huge_pages(bytes)) ::madvise(first, bytes, MADV_FREE);
  ::madvise(first, bytes, MADV_DONTNEED);
}

}  // namespace

BlockMemory::~BlockMemory() {
  if (bytes_ != nullptr && mapped_ == 0) ::operator delete(bytes_, cache_line);
}

BlockMemory BlockStock::take(std::size_t size) {
  const std::size_t mapped = mapped_for(size);
  std::unique_lock lock(mutex_);
  if (mapped == 0) {
    make_room(size);
    auto* const bytes = static_cast<std::byte*>(::operator new(size, cache_line));
    resident_ += size;
    return {bytes, size, 0};
  }
  if (std::byte* place = find(mapped)) return {place, size, mapped};
  const std::size_t whole = std::max(mapped, huge_page);
  const std::size_t room = most_bytes_ - std::min(most_bytes_, resident_);
  if (size != mapped || !fills_huge_pages(size) || whole > room)
    return {make_place(mapped), size, mapped};
  std::byte* const first = make_huge_page(mapped);
  lock.unlock();
  // Huge while its pages come, and never later: the kernel would fill what blocks have left.
  ::madvise(first, whole, MADV_HUGEPAGE);
  ::madvise(first, whole, MADV_POPULATE_WRITE);
  ::madvise(first, whole, MADV_NOHUGEPAGE);
  lock.lock();
  for (std::size_t at = mapped; at < whole; at += mapped)
    places_[mapped].filled.push_back(first + at);
  make_room(0);  // others may have taken theirs meanwhile
  return {first, size, mapped};
}

/// A place that is there, or none; the lock is held.
std::byte* BlockStock::find(std::size_t mapped) {
  Places& places = places_[mapped];
  if (!places.filled.empty()) {
    std::byte* const place = places.filled.back();
    places.filled.pop_back();
    return place;
  }
  if (places.empty.empty()) return nullptr;
  make_room(mapped);
  std::byte* const place = places.empty.back();
  places.empty.pop_back();
  resident_ += mapped;
  return place;
}

/// Addresses for a block; the lock is held.
std::byte* BlockStock::make_place(std::size_t mapped) {
  Places& places = places_[mapped];
  places.empty.reserve(++places.made);        // giving it back must not fail
  std::byte* const place = carve(mapped, 1);  // they are whole pages
  make_room(mapped);
  resident_ += mapped;
  return place;
}

/// Addresses for the blocks of a huge page, or one of several; the lock is held.
std::byte* BlockStock::make_huge_page(std::size_t mapped) {
  const std::size_t whole = std::max(mapped, huge_page);
  Places& places = places_[mapped];
  places.made += whole / mapped;
  places.empty.reserve(places.made);
  places.filled.reserve(places.made);
  std::byte* const first = carve(whole, huge_page);
  resident_ += whole;
  return first;
}

std::byte* BlockStock::carve(std::size_t bytes, std::size_t alignment) {
  const auto gap = [&] {
    return (alignment - reinterpret_cast<std::uintptr_t>(free_) % alignment) % alignment;
  };
  if (gap() + bytes > left_) {
    HugePages region(std::max(std::min(most_region, rounded_up(most_bytes_, huge_page)), bytes));
    ::madvise(region.data(), region.size(), MADV_NOHUGEPAGE);
    regions_.push_back(std::move(region));
    free_ = regions_.back().data();
    left_ = regions_.back().size();
  }
  left_ -= gap() + bytes;
  std::byte* const first = free_ + gap();
  free_ = first + bytes;
  return first;
}

/// Lets spare pages go where others are to come; the lock is held.
void BlockStock::make_room(std::size_t bytes) noexcept {
  for (auto& [mapped, places] : places_) {
    while (resident_ + bytes > most_bytes_ && !places.filled.empty()) {
      let_pages_go(places.filled.back(), mapped);
      places.empty.push_back(places.filled.back());
      places.filled.pop_back();
      resident_ -= mapped;
    }
  }
}

void BlockStock::give(BlockMemory memory) noexcept {
  if (memory.bytes_ == nullptr) return;
  if (memory.mapped_ == 0) {
    const std::lock_guard lock(mutex_);
    resident_ -= memory.size_;
    return;
  }
  std::byte* const place = std::exchange(memory.bytes_, nullptr);
  let_pages_go(place, memory.mapped_);
  const std::lock_guard lock(mutex_);
  places_.find(memory.mapped_)->second.empty.push_back(place);
  resident_ -= memory.mapped_;
}

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
