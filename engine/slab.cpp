#include <headrace/engine/detail/slab.h>

#include <headrace/engine/detail/loader_core.h>

namespace headrace::inline v1::detail {

SlabPool::SlabPool(Layout layout, int count)
    : layout_(std::move(layout)),
      stride_((layout_.bytes() + 4095) / 4096 * 4096),
      memory_(stride_ * static_cast<std::size_t>(count)) {
  slabs_.resize(static_cast<std::size_t>(count));
  for (int i = count - 1; i >= 0; --i) {
    Slab& slab = slabs_[static_cast<std::size_t>(i)];
    slab.memory = memory_.data() + stride_ * static_cast<std::size_t>(i);
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

Loan::~Loan() {
  if (slab_ == nullptr) return;
  extra.clear();
  std::lock_guard lock(context_.link->mutex);
  if (context_.link->core != nullptr) {
    context_.link->core->give_back(slab_);
  } else {
    context_.pool->give_back(slab_);
  }
}

Batch Loan::batch(std::shared_ptr<Loan> loan) {
  const std::int64_t size = loan->place_.size;
  return Batch(std::move(loan), 0, size);
}

}  // namespace headrace::inline v1::detail
