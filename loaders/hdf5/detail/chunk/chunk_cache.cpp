#include <headrace/loaders/hdf5/detail/chunk/chunk_cache.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// No more than that: a mapping has whole pages.
std::size_t whole_pages(std::size_t bytes) noexcept {
  const std::size_t page = HugePages::mapped_bytes(1);
  return bytes / page * page;
}

}  // namespace

ChunkCache::ChunkCache(const Sizes& sizes, Make make)
    : chunk_bytes_(sizes.chunk_bytes),
      stride_(stride(sizes.chunk_bytes)),
      capacity_(std::clamp<std::size_t>(
          whole_pages(sizes.most_bytes) / stride_, 1,
          std::clamp<std::size_t>(sizes.chunks, 1, std::numeric_limits<std::uint32_t>::max()))),
      make_(std::move(make)),
      memory_(capacity_ * stride_),
      slots_(std::make_unique<Slot[]>(sizes.chunks)),
      buffers_(std::make_unique<Buffer[]>(capacity_)) {
  free_.reserve(capacity_);
}

const std::byte* ChunkCache::try_pin(std::size_t chunk) noexcept {
  Slot& slot = slots_[chunk];
  std::int32_t pins = slot.pins.load(std::memory_order_relaxed);
  while (pins >= 0) {
    if (!slot.pins.compare_exchange_weak(pins, pins + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
      continue;
    }
    Buffer& buffer = buffers_[slot.buffer];
    if (!buffer.used.load(std::memory_order_relaxed))
      buffer.used.store(true, std::memory_order_relaxed);
    return memory(slot.buffer);
  }
  return nullptr;
}

const std::byte* ChunkCache::pin_or_make(std::size_t chunk) {
  Slot& slot = slots_[chunk];
  for (;;) {
    if (const std::byte* there = try_pin(chunk)) return there;
    std::int32_t state = absent;
    if (slot.pins.compare_exchange_strong(state, busy, std::memory_order_acquire)) break;
    if (state == busy) return nullptr;
  }
  const std::uint32_t buffer = take_buffer();
  try {
    make_(chunk, {memory(buffer), chunk_bytes_});
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(buffer);
    }
    publish(chunk, absent);
    throw;
  }
  made_.fetch_add(1, std::memory_order_relaxed);
  slot.buffer = buffer;
  buffers_[buffer].used.store(true, std::memory_order_relaxed);
  publish(chunk, 1);
  const std::lock_guard lock(mutex_);
  buffers_[buffer].owner = chunk;
  return memory(buffer);
}

const std::byte* ChunkCache::pin(std::size_t chunk) {
  for (;;) {
    if (const std::byte* there = pin_or_make(chunk)) return there;
    slots_[chunk].pins.wait(busy, std::memory_order_acquire);
  }
}

void ChunkCache::publish(std::size_t chunk, std::int32_t state) noexcept {
  slots_[chunk].pins.store(state, std::memory_order_release);
  slots_[chunk].pins.notify_all();
}

/// A buffer of its own for the caller. Waits only while every other one is pinned or being filled,
/// which its holders end without waiting for anybody.
std::uint32_t ChunkCache::take_buffer() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      std::uint32_t buffer = 0;
      if (!free_.empty()) {
        buffer = free_.back();
        free_.pop_back();
        return buffer;
      }
      if (fresh_ < capacity_) return static_cast<std::uint32_t>(fresh_++);
      if (evict(buffer)) return buffer;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

bool ChunkCache::evict(std::uint32_t& buffer) noexcept {
  for (std::size_t step = 0; step < 2 * capacity_; ++step) {
    const std::size_t at = hand_;
    hand_ = hand_ + 1 < capacity_ ? hand_ + 1 : 0;
    Buffer& candidate = buffers_[at];
    if (candidate.owner == nobody || candidate.used.exchange(false, std::memory_order_relaxed))
      continue;
    std::int32_t unpinned = 0;
    if (!slots_[candidate.owner].pins.compare_exchange_strong(unpinned, absent,
                                                              std::memory_order_acquire)) {
      continue;
    }
    candidate.owner = nobody;
    buffer = static_cast<std::uint32_t>(at);
    return true;
  }
  return false;
}

}  // namespace headrace::inline v1::detail
