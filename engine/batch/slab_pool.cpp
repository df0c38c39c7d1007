#include <headrace/engine/batch/internal/slab_pool.h>

#include <utility>

namespace headrace::inline v1::detail {

SlabPool::SlabPool(Layout layout, int count)
    : layout_(std::move(layout)), memory_(stride(layout_) * static_cast<std::size_t>(count)) {
  slabs_.resize(static_cast<std::size_t>(count));
  free_.reserve(slabs_.size());
  for (int i = count - 1; i >= 0; --i) {
    Slab& slab = slabs_[static_cast<std::size_t>(i)];
    slab.memory = memory_.data() + stride(layout_) * static_cast<std::size_t>(i);
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

}  // namespace headrace::inline v1::detail
