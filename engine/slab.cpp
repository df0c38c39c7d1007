#include <headrace/engine/detail/slab.h>

#include <algorithm>

#include <headrace/engine/detail/loader_core.h>

namespace headrace::inline v1::detail {

SlabPool::SlabPool(Layout layout, int count, std::shared_ptr<LoaderLink> link)
    : layout_(std::move(layout)),
      link_(std::move(link)),
      memory_(stride(layout_) * static_cast<std::size_t>(count)) {
  slabs_.resize(static_cast<std::size_t>(count));
  free_.reserve(slabs_.size());
  for (int i = count - 1; i >= 0; --i) {
    Slab& slab = slabs_[static_cast<std::size_t>(i)];
    slab.memory = memory_.data() + stride(layout_) * static_cast<std::size_t>(i);
    slab.home = this;
    free_.push_back(&slab);
  }
}

Slab* SlabPool::take() {
  std::lock_guard lock(mutex_);
  Slab* slab = free_.back();
  free_.pop_back();
  return slab;
}

void SlabPool::give_back(Slab* slab) {
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
}

void SlabPool::discard() noexcept {
  memory_.discard();
  for (Slab& slab : slabs_)
    slab.made.clear();
}

Loan::Loan(Context context, Slab* slab, DeviceSlot* slot, const BatchPlace& place)
    : context_(std::move(context)), slab_(slab), slot_(slot), memory_(slab), place_(place) {
  if (slot != nullptr) memory_ = slot;
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
  if (memory_ == nullptr) return;
  extra.clear();
  if (slot_ != nullptr) context_.transfer->release(*slot_, streams_);
  LoaderLink& link = *context_.pool->link();
  std::lock_guard lock(link.mutex);
  if (link.core != nullptr) {
    slot_ != nullptr ? link.core->give_back(slot_) : link.core->give_back(slab_);
  } else {
    slot_ != nullptr ? context_.transfer->put_back(slot_) : context_.pool->give_back(slab_);
  }
}

void Loan::use_on(Stream stream) {
  if (slot_ == nullptr) return;
  std::lock_guard lock(mutex_);
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
