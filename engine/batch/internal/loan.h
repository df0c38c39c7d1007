#pragma once

#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/batch/internal/slab_pool.h>
#include <headrace/engine/device/internal/transfer.h>
#include <headrace/engine/order/order.h>
#include <headrace/engine/sample/source.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// What a batch is in its epoch, known when it is admitted.
struct BatchPlace {
  std::int64_t number = 0;
  std::int64_t epoch = 0;
  std::int64_t first = 0;   ///< global position of row 0
  std::int64_t rows = 0;    ///< rows that hold samples
  std::int64_t size = 0;    ///< rows of the batch
  std::int64_t before = 0;  ///< global position before the batch, all ranks counted
  std::int64_t after = 0;   ///< and after it
};

/// Who lends batches.
class Lender {
 public:
  /// A slab is free again: its batch is no longer used. `delivered`: the trainer had it. Any
  /// thread.
  virtual void slab_came_back(Slab* slab, bool delivered) noexcept = 0;
  /// The same of a slot of the device, which the transfer has set free, or will; or has lost, for
  /// `failure`.
  virtual void slot_came_back(bool delivered, std::exception_ptr failure) noexcept = 0;

 protected:
  ~Lender() = default;
};

/// The way from loans back to their lender, cut when the lender goes first. For any thread.
class LenderLink {
 public:
  explicit LenderLink(Lender* lender) noexcept : lender_(lender) {}

  /// Calls `work(lender)`, without a lock held, unless the lender has gone; false then.
  template <class Work>
  bool call(Work work) noexcept {
    Lender* lender = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (lender_ == nullptr) return false;
      lender = lender_;
      ++inside_;
    }
    work(*lender);
    std::lock_guard lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
    return true;
  }
  /// From now on the lender is not called; waits for those who are calling it.
  void cut() noexcept {
    std::unique_lock lock(mutex_);
    lender_ = nullptr;
    left_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  Lender* lender_;
  int inside_ = 0;
};

/// A finished batch, the loader's until it is delivered and the trainer's from then on: in a slab,
/// or in a slot of its device. The last reference gives the memory back, on whichever thread it
/// dies.
class Loan {
 public:
  struct Context {
    std::shared_ptr<SlabPool> pool;
    std::shared_ptr<const Source> source;
    std::shared_ptr<const IndexStream> order;
    std::shared_ptr<Transfer> transfer;  ///< null where batches stay on the host
    std::shared_ptr<LenderLink> lender;
  };

  /// Takes the slot, or where it is null the slab.
  Loan(Context context, Slab* slab, DeviceSlot* slot, const BatchPlace& place);
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  static Batch batch(std::shared_ptr<Loan> loan);

  const BatchPlace& place() const noexcept { return place_; }
  const Context& context() const noexcept { return context_; }
  const Layout& layout() const noexcept { return context_.pool->layout(); }
  BatchMemory& memory() const noexcept { return *memory_; }
  /// The slab, for batch operations. Throws PipelineError once the loan has let go of it.
  std::byte* host_memory();
  /// Of a loan of a slot: the slab is about to go round again.
  void let_go_of_slab();
  /// Values of a ragged field in all rows together; `field`, a ragged one, counts the layout's
  /// fields.
  std::int64_t ragged_end(std::size_t field) const { return ragged_ends_[field]; }
  /// Rows in [first, last) that hold no sample, by the layout's column of valid rows.
  std::int64_t absent_rows(std::int64_t first, std::int64_t last) const;
  /// Fields that batch operations made or set.
  const BatchMemory::Fields& extra() const noexcept { return extra_; }
  /// Gives such a field its value. The one before it stays until the loan ends: views of it hold
  /// nothing but the loan.
  void put(std::string_view name, Tensor tensor);
  /// All work of the pipeline's own has been queued: streams may wait for it.
  void finish();
  /// A stream of the trainer's begins to use the batch; the loan ends behind its work. Throws
  /// PipelineError before finish().
  void use_on(Stream stream);
  /// The trainer has it; until then it counts as the loader's own.
  void deliver() noexcept { delivered_ = true; }

  std::vector<std::pair<std::int64_t, std::int64_t>> replaced;  ///< row, index of its replacement

 private:
  HomeProcess home_;
  Context context_;
  Slab* slab_;  ///< null once the loan has let go of it
  DeviceSlot* slot_;
  BatchMemory* memory_;
  BatchPlace place_;
  bool delivered_ = false;
  std::vector<std::int64_t> ragged_ends_;
  std::vector<std::int64_t> absent_;  // rows, ascending
  BatchMemory::Fields extra_;
  std::vector<Tensor> replaced_values_;
  std::mutex mutex_;  // of what follows: handles of one loan may be in several threads
  bool finished_ = false;
  std::vector<Stream> streams_;
};

}  // namespace headrace::inline v1::detail
