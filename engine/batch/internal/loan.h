#pragma once

#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/batch/internal/batch_place.h>
#include <headrace/engine/batch/internal/lender.h>
#include <headrace/engine/batch/internal/slab_pool.h>
#include <headrace/engine/device/internal/transfer.h>
#include <headrace/engine/order/order.h>
#include <headrace/engine/sample/source.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

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
