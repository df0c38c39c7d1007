#pragma once

#include <headrace/engine/tensor/huge_pages.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// Decoded chunks of one array, shared by all threads, in memory of a fixed size. Who needs a chunk
/// that is not there makes it; others that want the same one wait for it, so it is made once. A
/// chunk stays while it is pinned; of the others those go that were not used since the hand of the
/// clock last came by. Thread-safe.
class ChunkCache {
 public:
  struct Sizes {
    std::size_t chunks = 0;       ///< of the array
    std::size_t chunk_bytes = 0;  ///< decoded
    std::size_t most_bytes = 0;   ///< decoded chunks together; one is always kept
  };
  using Make = std::function<void(std::size_t chunk, std::span<std::byte> out)>;

  /// `make` fills a chunk; it is called from any thread and may throw. Throws ResourceError when
  /// the memory cannot be mapped; it is taken page by page as chunks come.
  ChunkCache(const Sizes& sizes, Make make);

  /// The chunk if it is there, pinned; else null. Never waits.
  const std::byte* try_pin(std::size_t chunk) noexcept;
  /// try_pin(), and makes the chunk if nobody has begun to; null while another thread makes it.
  /// Throws what `make` throws. A thread that holds pins must not call it: it waits for memory.
  const std::byte* pin_or_make(std::size_t chunk);
  /// pin_or_make(), and waits for the other thread.
  const std::byte* pin(std::size_t chunk);
  void unpin(std::size_t chunk) noexcept {
    slots_[chunk].pins.fetch_sub(1, std::memory_order_release);
  }

  /// Whether a further chunk takes the place of another.
  bool full() noexcept {
    const std::lock_guard lock(mutex_);
    return free_.empty() && fresh_ == capacity_;
  }
  /// Chunks that fit.
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t bytes() const noexcept { return memory_.mapped_bytes(); }
  /// Chunks made so far.
  std::uint64_t made() const noexcept { return made_.load(std::memory_order_relaxed); }

  static std::size_t stride(std::size_t chunk_bytes) noexcept {
    return (chunk_bytes + 63) / 64 * 64;
  }

 private:
  static constexpr std::int32_t absent = -2;
  static constexpr std::int32_t busy = -1;
  static constexpr std::size_t nobody = ~std::size_t{0};

  struct Slot {
    std::atomic<std::int32_t> pins{absent};  ///< absent, busy, or the number of pins
    std::uint32_t buffer = 0;                ///< valid while pinned
  };
  struct Buffer {
    std::atomic<bool> used{false};
    std::size_t owner = nobody;  ///< under the mutex
  };

  std::byte* memory(std::uint32_t buffer) const noexcept {
    return memory_.data() + buffer * stride_;
  }
  std::uint32_t take_buffer();
  bool evict(std::uint32_t& buffer) noexcept;
  void publish(std::size_t chunk, std::int32_t state) noexcept;

  std::size_t chunk_bytes_;
  std::size_t stride_;
  std::size_t capacity_;
  Make make_;
  HugePages memory_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<Buffer[]> buffers_;
  std::atomic<std::uint64_t> made_{0};
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;  ///< buffers given back after an error
  std::size_t fresh_ = 0;            ///< buffers never used yet begin here
  std::size_t hand_ = 0;
};

}  // namespace headrace::inline v1::detail
