#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <headrace/engine/batch.h>
#include <headrace/engine/detail/batch_memory.h>
#include <headrace/engine/detail/layout.h>
#include <headrace/engine/detail/transfer.h>
#include <headrace/engine/huge_pages.h>
#include <headrace/engine/order.h>
#include <headrace/engine/source.h>

namespace headrace::inline v1::detail {

class LoaderCore;

/// Host memory of one batch.
struct Slab : BatchMemory {
  class SlabPool* home = nullptr;
};

/// The way from a loan back to its loader, cut when the loader goes first.
struct LoaderLink {
  std::mutex mutex;
  LoaderCore* core = nullptr;
};

/// The slabs of a loader. Outlives the loader while batches are on loan.
class SlabPool {
 public:
  /// Bytes from one slab to the next.
  static std::size_t stride(const Layout& layout) noexcept {
    return (layout.bytes() + 4095) / 4096 * 4096;
  }

  SlabPool(Layout layout, int count, std::shared_ptr<LoaderLink> link);

  const Layout& layout() const noexcept { return layout_; }
  const std::shared_ptr<LoaderLink>& link() const noexcept { return link_; }
  std::byte* memory() const noexcept { return memory_.data(); }
  std::size_t bytes() const noexcept { return memory_.mapped_bytes(); }

  /// The slab that was given back last: its lines are the likeliest to be in the cache.
  Slab* take();
  void give_back(Slab* slab);
  /// Gives the memory back to the system while no slab is in use, and what batch operations made;
  /// the addresses of the slabs stay.
  void discard() noexcept;

 private:
  Layout layout_;
  std::shared_ptr<LoaderLink> link_;
  HugePages memory_;
  std::vector<Slab> slabs_;
  std::mutex mutex_;
  std::vector<Slab*> free_;
};

/// What a batch is in its epoch, known when it is admitted.
struct BatchPlace {
  std::int64_t number = 0;
  std::int64_t epoch = 0;
  std::int64_t first = 0;  ///< global position of row 0
  std::int64_t rows = 0;   ///< rows that hold samples
  std::int64_t size = 0;   ///< rows of the batch
  std::int64_t after = 0;  ///< global position after the batch, all ranks counted
};

/// A batch in the hands of the trainer: in a slab, or in a slot of its device. The last reference
/// gives the memory back, on whichever thread it dies.
class Loan {
 public:
  struct Context {
    std::shared_ptr<SlabPool> pool;
    std::shared_ptr<const Source> source;
    std::shared_ptr<const IndexStream> order;
    std::shared_ptr<Transfer> transfer;  ///< null where batches stay on the host
  };

  /// `slot` is null where batches stay on the host.
  Loan(Context context, Slab* slab, DeviceSlot* slot, const BatchPlace& place);
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  static Batch batch(std::shared_ptr<Loan> loan);

  const BatchPlace& place() const noexcept { return place_; }
  const Context& context() const noexcept { return context_; }
  const Layout& layout() const noexcept { return context_.pool->layout(); }
  BatchMemory& memory() const noexcept { return *memory_; }
  DeviceSlot* slot() const noexcept { return slot_; }
  /// Values of a ragged field in all rows together; `field`, a ragged one, counts the layout's
  /// fields.
  std::int64_t ragged_end(std::size_t field) const { return ragged_ends_[field]; }
  /// A stream of the trainer's begins to use the batch; the loan ends behind its work.
  void use_on(Stream stream);
  /// Gives the memory up without giving it back: the batch is dropped before the trainer sees it.
  void disarm() noexcept { memory_ = nullptr; }

  std::vector<std::pair<std::string, Tensor>> extra;            ///< fields made by batch operations
  std::vector<std::pair<std::int64_t, std::int64_t>> replaced;  ///< row, index of its replacement

 private:
  Context context_;
  Slab* slab_;
  DeviceSlot* slot_;
  BatchMemory* memory_;
  BatchPlace place_;
  std::vector<std::int64_t> ragged_ends_;
  std::mutex mutex_;  ///< of what follows: handles of one loan may be in several threads
  std::vector<Stream> streams_;
};

}  // namespace headrace::inline v1::detail
