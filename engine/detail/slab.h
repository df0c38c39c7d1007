#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <headrace/engine/batch.h>
#include <headrace/engine/detail/layout.h>
#include <headrace/engine/huge_pages.h>
#include <headrace/engine/order.h>
#include <headrace/engine/source.h>

namespace headrace::inline v1::detail {

class LoaderCore;

/// Memory of one batch, at an address that never changes.
struct Slab {
  std::byte* memory = nullptr;
  std::vector<std::pair<std::string, Tensor>>
      made;  ///< memory of fields that batch operations make, kept for the next round
};

/// The slabs of a loader. Outlives the loader while batches are on loan.
class SlabPool {
 public:
  SlabPool(Layout layout, int count);

  const Layout& layout() const noexcept { return layout_; }
  std::size_t bytes() const noexcept { return memory_.mapped_bytes(); }

  /// The slab that was given back last: its lines are the likeliest to be in the cache.
  Slab* take();
  void give_back(Slab* slab);
  /// Gives the memory back to the system while no slab is in use; the addresses stay.
  void discard() noexcept { memory_.discard(); }

 private:
  Layout layout_;
  std::size_t stride_;
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

/// The way from a loan back to its loader, cut when the loader goes first.
struct LoaderLink {
  std::mutex mutex;
  LoaderCore* core = nullptr;
};

/// A batch in the hands of the trainer. The last reference gives the slab back, on whichever thread
/// it dies.
class Loan {
 public:
  struct Context {
    std::shared_ptr<SlabPool> pool;
    std::shared_ptr<LoaderLink> link;
    std::shared_ptr<const Source> source;
    std::shared_ptr<const IndexStream> order;
  };

  Loan(Context context, Slab* slab, const BatchPlace& place)
      : context_(std::move(context)), slab_(slab), place_(place) {}
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  static Batch batch(std::shared_ptr<Loan> loan);

  const BatchPlace& place() const noexcept { return place_; }
  const Context& context() const noexcept { return context_; }
  const Layout& layout() const noexcept { return context_.pool->layout(); }
  Slab* slab() const noexcept { return slab_; }
  /// Gives the slab up without giving it back: the batch is dropped before the trainer sees it.
  void disarm() noexcept { slab_ = nullptr; }

  std::vector<std::pair<std::string, Tensor>> extra;            ///< fields made by batch operations
  std::vector<std::pair<std::int64_t, std::int64_t>> replaced;  ///< row, index of its replacement

 private:
  Context context_;
  Slab* slab_;
  BatchPlace place_;
};

}  // namespace headrace::inline v1::detail
