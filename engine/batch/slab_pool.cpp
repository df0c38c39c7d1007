#include <headrace/engine/batch/internal/slab_pool.h>

#include <algorithm>
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
  slab->resting = false;
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

std::size_t SlabPool::held_bytes() noexcept {
  const std::lock_guard lock(mutex_);
  const auto resting = static_cast<std::size_t>(std::ranges::count_if(free_, &Slab::resting));
  return bytes() - resting * stride(layout_);
}

void SlabPool::rest_beyond(std::size_t most) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t warm = std::min(most, free_.size());
  for (std::size_t i = 0; i < free_.size() - warm; ++i) {
    Slab& slab = *free_[i];
    if (std::exchange(slab.resting, true)) continue;
    memory_.discard(static_cast<std::size_t>(slab.memory - memory_.data()), stride(layout_));
    slab.made.clear();
  }
}

}  // namespace headrace::inline v1::detail
