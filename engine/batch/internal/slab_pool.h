#pragma once

#include <headrace/engine/batch/internal/layout.h>
#include <headrace/engine/device/internal/batch_memory.h>
#include <headrace/engine/tensor/huge_pages.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace headrace::inline v1::detail {

/// Host memory of one batch.
struct Slab : BatchMemory {
  bool resting = false;  ///< its pages were given back to the system; of the pool's lock
};

/// The slabs of a loader. Outlives the loader while batches are on loan. For any thread.
class SlabPool {
 public:
  /// Bytes from one slab to the next.
  static std::size_t stride(const Layout& layout) noexcept {
    return (layout.bytes() + 4095) / 4096 * 4096;
  }

  SlabPool(Layout layout, int count);

  const Layout& layout() const noexcept { return layout_; }
  std::byte* memory() const noexcept { return memory_.data(); }
  std::size_t bytes() const noexcept { return memory_.mapped_bytes(); }
  /// Without the slabs that rest.
  std::size_t held_bytes() noexcept;

  /// The slab that was given back last: its lines are the likeliest to be in the cache.
  Slab* take();
  void give_back(Slab* slab);
  /// Gives the memory back to the system while no slab is in use, and what batch operations made;
  /// the addresses of the slabs stay.
  void discard() noexcept;
  /// The same for free slabs, the coldest first, down to `most` that keep their pages.
  void rest_beyond(std::size_t most) noexcept;

 private:
  Layout layout_;
  HugePages memory_;
  std::vector<Slab> slabs_;
  std::mutex mutex_;  // of the free ones
  std::vector<Slab*> free_;
};

}  // namespace headrace::inline v1::detail
