#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/position.h>
#include <headrace/engine/batch/row_origins.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

namespace detail {
class Loan;
}

/// A batch on loan: named fields, each with a leading dimension of size() rows, in a slab of the
/// loader or a slot of its device. That memory goes round again when the last copy of the handle,
/// and of every tensor taken from it, is gone; on whichever thread that is. Handles may be copied
/// and moved between threads; one handle is used by one thread at a time.
class HEADRACE_API Batch {
 public:
  Batch() = default;

  explicit operator bool() const noexcept { return loan_ != nullptr; }
  /// Rows of this rank.
  std::int64_t size() const noexcept { return last_ - first_; }
  /// Rows that hold samples, known on the host wherever the batch is: those whose "valid" of the
  /// loader's was true before batch operations, all where there is none. Empty where "valid" is a
  /// field of the source or of a batch operation.
  std::optional<std::int64_t> valid_rows() const;
  /// Number of the batch in its epoch.
  std::int64_t number() const noexcept;
  std::int64_t epoch() const noexcept;

  /// Whether there is a field of that name.
  bool has(std::string_view name) const noexcept;
  /// A field, shape [size(), ...] (ragged: all rows end to end); it keeps the loan alive. Where the
  /// loader transfers to a device it is memory of the device. Throws PipelineError naming the
  /// fields that exist.
  Tensor operator[](std::string_view name) const;
  /// Names of the fields: those of the slab ("valid", offsets and shapes included), then what batch
  /// operations made.
  std::vector<std::string> names() const;

  /// Rows [first, last) as a batch of their own on the same loan, without a copy: accumulation,
  /// smaller evaluation batches, a retry after out-of-memory. Ragged fields keep all their values
  /// and show the offsets of these rows.
  Batch rows(std::int64_t first, std::int64_t last) const;

  /// Where each row came from, file names included; computed when asked for.
  std::vector<Origin> origins() const;
  /// The same for later: keeps nothing of the batch's memory.
  RowOrigins row_origins() const;
  /// Where the stream goes on after rows(), as if the batch ended with them. With several ranks,
  /// each of which has done as many rows, nothing is left out there; what the later ones have done
  /// comes again.
  Position position_after() const;

  /// Another stream of the device uses the batch: it waits until the batch is ready, and the memory
  /// is not refilled before that stream has come to where it is when the loan ends. The stream must
  /// live as long as the loan. Nothing to do on the CPU. Throws PipelineError inside a batch
  /// operation, whose batch is not ready, and DeviceError for a stream that cannot be lent to.
  void also_used_on(Stream stream) const;

  /// For batch operations: a field that stays on the host (FieldSpec::on_host), [size(), ...], in
  /// page-locked memory where batches go to a device. It may be read and written until the
  /// operation returns and, by what it has queued on its stream, until that is done; not later.
  /// Throws PipelineError for other fields and once the batch is finished.
  Tensor on_host(std::string_view name) const;
  /// For batch operations: adds or replaces a field of the batch, for the time of the loan.
  void set(std::string_view name, Tensor tensor);
  /// For batch operations: memory for a field that is about to be written, contents undefined,
  /// owned by the batch. The field's present value stays readable until it is made once more.
  Tensor make(std::string_view name, DType dtype, const Shape& shape);

 private:
  friend class detail::Loan;
  Batch(std::shared_ptr<detail::Loan> loan, std::int64_t first, std::int64_t last) noexcept
      : loan_(std::move(loan)), first_(first), last_(last) {}

  std::shared_ptr<detail::Loan> loan_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace headrace::inline v1
