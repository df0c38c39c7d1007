#include <headrace/engine/base/error.h>
#include <headrace/engine/batch/internal/loan.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {

Loan::Loan(Context context, Slab* slab, DeviceSlot* slot, const BatchPlace& place)
    : context_(std::move(context)), slab_(slab), slot_(slot), memory_(slab), place_(place) {
  if (slot != nullptr) memory_ = slot;
  absent_ = layout().absent_rows(slab->memory, place.size);
  const auto& fields = layout().fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].spec.kind != FieldSpec::Kind::ragged) continue;
    const auto& offsets = layout().columns()[fields[f].extra];
    ragged_ends_.resize(fields.size());
    ragged_ends_[f] =
        reinterpret_cast<const std::int64_t*>(slab->memory + offsets.offset)[place.size];
  }
}

Loan::~Loan() {
  if (home_.left()) {
    // A fork's copy: its locks may be held and its streams are of another process.
    static_cast<void>(new Context(std::move(context_)));
    return;
  }
  extra_.clear();
  replaced_values_.clear();
  LenderLink& link = *context_.lender;
  if (slot_ != nullptr) {
    std::exception_ptr failure = context_.transfer->end_loan(*slot_, streams_);
    link.call([&](Lender& lender) { lender.slot_came_back(delivered_, std::move(failure)); });
  } else if (!link.call([&](Lender& lender) { lender.slab_came_back(slab_, delivered_); })) {
    context_.pool->give_back(slab_);
  }
}

std::int64_t Loan::absent_rows(std::int64_t first, std::int64_t last) const {
  return std::ranges::lower_bound(absent_, last) - std::ranges::lower_bound(absent_, first);
}

void Loan::put(std::string_view name, Tensor tensor) {
  const auto known = std::ranges::find(extra_, name, &std::pair<std::string, Tensor>::first);
  if (known == extra_.end()) {
    extra_.emplace_back(std::string(name), std::move(tensor));
    return;
  }
  replaced_values_.push_back(known->second);
  known->second = std::move(tensor);
}

void Loan::finish() {
  std::lock_guard lock(mutex_);
  finished_ = true;
}

std::byte* Loan::host_memory() {
  const std::lock_guard lock(mutex_);
  if (slab_ == nullptr) {
    throw PipelineError(
        "[batch] fields that stay on the host are for batch operations, this batch is finished: "
        "its slab may be another batch's by now");
  }
  return slab_->memory;
}

void Loan::let_go_of_slab() {
  const std::lock_guard lock(mutex_);
  slab_ = nullptr;
}

void Loan::use_on(Stream stream) {
  if (slot_ == nullptr) return;
  std::lock_guard lock(mutex_);
  if (!finished_) {
    throw PipelineError(
        "[batch] a stream can use a batch once it is ready, this one is still being made: "
        "a batch operation works on the stream that it is given; call also_used_on() when "
        "the batch is delivered");
  }
  const auto same = [&](Stream other) { return other.handle == stream.handle; };
  if (std::any_of(streams_.begin(), streams_.end(), same)) return;
  streams_.reserve(streams_.size() + 1);
  context_.transfer->lend(*slot_, stream, streams_.size());
  streams_.push_back(stream);
}

Batch Loan::batch(std::shared_ptr<Loan> loan) {
  const std::int64_t size = loan->place_.size;
  return Batch(std::move(loan), 0, size);
}

}  // namespace headrace::inline v1::detail
